#include "attention/head_output.h"

#include "attention/head_outputs/head_output.pb.h"

namespace regard {

HeadOutputRegistry::HeadOutputRegistry()
    : PluginRegistry("head_output", "gate {}") {}

}  // namespace regard
