"""A response for each element, sent from a thread while `execute` has long returned."""

import threading
import time

import numpy as np
import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    def initialize(self, args):
        self.running = 0
        self.changed = threading.Condition()

    def execute(self, requests):
        for request in requests:
            values = pb_utils.get_input_tensor_by_name(request, "IN").as_numpy()
            delay_s = pb_utils.get_input_tensor_by_name(request, "DELAY_MS").as_numpy()[0] / 1000
            with self.changed:
                self.running += 1
            arguments = (request.get_response_sender(), values.copy(), float(delay_s))
            threading.Thread(target=self.send, args=arguments, daemon=True).start()
        return None

    def send(self, sender, values, delay_s):
        for index, value in enumerate(values):
            time.sleep(delay_s)
            tensors = [
                pb_utils.Tensor("OUT", np.array([value], np.int32)),
                pb_utils.Tensor("INDEX", np.array([index], np.uint32)),
            ]
            sender.send(pb_utils.InferenceResponse(tensors))
        sender.send(flags=pb_utils.TRITONSERVER_RESPONSE_COMPLETE_FINAL)
        with self.changed:
            self.running -= 1
            self.changed.notify_all()

    def finalize(self):
        with self.changed:
            self.changed.wait_for(lambda: not self.running, 10)
