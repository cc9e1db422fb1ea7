#include "attention/key_selection.h"

#include "attention/selections/selection.pb.h"

namespace regard {

KeySelectionRegistry::KeySelectionRegistry()
    : PluginRegistry("selection", "moba { block_size: 64 top_k: 4 }") {}

}  // namespace regard
