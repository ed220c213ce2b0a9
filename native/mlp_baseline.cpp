#include "mlp_sweep_impl.hpp"
