#include "experiments/tasks/plugins.h"

#include "experiments/experiment.pb.h"

namespace regard {

TaskRegistry::TaskRegistry()
    : PluginRegistry("model",
                     "decoder {}, transformer {} or nadaraya_watson {}") {}

}  // namespace regard
