// Which words belong together, where an experiment's data knows.
#ifndef EXPERIMENTS_GOLD_ALIGNMENT_H_
#define EXPERIMENTS_GOLD_ALIGNMENT_H_

#include <string>
#include <vector>

#include "experiments/experiment.pb.h"
#include "seq2seq/sentence_pair.h"

namespace regard {

// Gold links of a pair, in words without <eos>, from the data that a config
// generates: of a phrasebook, of sequences to copy or to reverse. Empty where
// they are not known.
std::vector<AlignmentLink> GoldAlignment(
    const Experiment& config, const std::vector<std::string>& source,
    const std::vector<std::string>& target);

}  // namespace regard

#endif  // EXPERIMENTS_GOLD_ALIGNMENT_H_
