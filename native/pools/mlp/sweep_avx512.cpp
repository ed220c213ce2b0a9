#include "pools/mlp/sweep_impl.hpp"
