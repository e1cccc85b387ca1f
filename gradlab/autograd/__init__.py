"""torch.autograd's names: backward, grad, Function, the grad modes, gradcheck, anomaly detection, functional."""

from gradlab.autograd import forward_ad, functional, graph
from gradlab.autograd.anomaly import detect_anomaly, is_anomaly_check_nan_enabled, is_anomaly_enabled, set_detect_anomaly
from gradlab.autograd.function import Function
from gradlab.autograd.gradcheck import GradcheckError, gradcheck, gradgradcheck
from gradlab.autograd.variable import Variable
from gradlab.autograd.grad_mode import enable_grad, inference_mode, no_grad, set_grad_enabled
from gradlab.autograd.backward import backward, grad

__all__ = [
    "Function",
    "GradcheckError",
    "Variable",
    "backward",
    "detect_anomaly",
    "enable_grad",
    "forward_ad",
    "functional",
    "grad",
    "gradcheck",
    "gradgradcheck",
    "graph",
    "inference_mode",
    "is_anomaly_check_nan_enabled",
    "is_anomaly_enabled",
    "no_grad",
    "set_detect_anomaly",
    "set_grad_enabled",
]
