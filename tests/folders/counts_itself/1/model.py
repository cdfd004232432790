"""Metrics of its own beside the server's."""

import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    def initialize(self, args):
        self.rows = pb_utils.MetricFamily(
            name="folder_rows_total", description="Rows so far", kind=pb_utils.MetricFamily.COUNTER
        )
        self.largest = pb_utils.MetricFamily(
            name="folder_largest", description="Largest value so far", kind=pb_utils.MetricFamily.GAUGE
        )
        labels = {"model": args["model_name"], "version": args["model_version"]}
        self.counter = self.rows.Metric(labels=labels)
        self.gauge = self.largest.Metric(labels=labels)

    def execute(self, requests):
        responses = []
        for request in requests:
            x = pb_utils.get_input_tensor_by_name(request, "X").as_numpy()
            self.counter.increment(len(x))
            self.gauge.set(max(self.gauge.value(), float(x.max())))
            responses.append(pb_utils.InferenceResponse([pb_utils.Tensor("Y", x)]))
        return responses
