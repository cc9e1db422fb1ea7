#include "data/data_source.h"

namespace regard {

DataSourceRegistry::DataSourceRegistry()
    : OptionRegistry(Data::descriptor()->FindOneofByName("data_source"),
                     "phrasebook {}") {}

}  // namespace regard
