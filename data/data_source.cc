#include "data/data_source.h"

#include "data/data.pb.h"

namespace regard {

int PresentTextVersion() { return Data::default_instance().text_version(); }

DataSourceRegistry::DataSourceRegistry()
    : PluginRegistry("data_source", "phrasebook {}") {}

}  // namespace regard
