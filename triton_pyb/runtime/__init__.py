"""Everything in this folder is copied into the model folder and runs inside Triton.

Runs on      Python 3.8+ (containers 21.10 to today): stdlib + numpy + triton_python_backend_utils;
             Pillow or OpenCV only where an encoded image is decoded, imported when the first one comes.
Expects      ``<model>/<version>/model.py`` (generated), ``signature.json`` and the author's modules beside it.
Leaves       a class ``TritonPythonModel`` in ``model.py``.
Never        imports another folder of triton_pyb, writes files, evaluates annotations of a packaged model,
             reads the network, or does anything on import; when a model is initialized, records of Python's
             root logger are sent to the server's log besides.

Shapes by name, here and everywhere: ``n_items`` (items of one request, axis 0), ``n_rows`` (items of all
requests of one call), ``dims`` (declared, per item, without the batch axis).
"""
