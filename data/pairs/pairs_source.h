// Sentence pairs of text files, as words or as subwords.
#ifndef DATA_PAIRS_PAIRS_SOURCE_H_
#define DATA_PAIRS_PAIRS_SOURCE_H_

#include "data/data_source.h"

namespace regard {

// Adds pairs.
void AddPairsSource(DataSourceRegistry& sources);

}  // namespace regard

#endif  // DATA_PAIRS_PAIRS_SOURCE_H_
