// What the heads of a BERT look at in a text.
#ifndef EXPERIMENTS_TASKS_MASKED_WORDS_BERT_MAPS_H_
#define EXPERIMENTS_TASKS_MASKED_WORDS_BERT_MAPS_H_

#include <vector>

#include "data/text/wordpiece.h"
#include "experiments/report/run_results.h"
#include "language/bert.h"
#include "nn/forward.h"

namespace regard {

// A map for each layer, of the tokens of one text, [CLS] and [SEP] included, on
// the tape of a step that has begun.
std::vector<LabelledMatrix> BertMaps(const Bert<float>& bert,
                                     const WordPiece& pieces,
                                     Forward<float>& forward,
                                     const BertBatch& text);

}  // namespace regard

#endif  // EXPERIMENTS_TASKS_MASKED_WORDS_BERT_MAPS_H_
