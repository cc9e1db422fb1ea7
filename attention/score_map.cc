#include "attention/score_map.h"

#include "attention/score_maps/score_map.pb.h"

namespace regard {

ScoreMapRegistry::ScoreMapRegistry()
    : PluginRegistry("map", "soft_cap { cap: 50 }") {}

}  // namespace regard
