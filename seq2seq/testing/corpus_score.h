// Computes the metric of a corpus from the statistics of its sentences, for
// tests.
#ifndef SEQ2SEQ_TESTING_CORPUS_SCORE_H_
#define SEQ2SEQ_TESTING_CORPUS_SCORE_H_

#include <string>
#include <vector>

#include "optimization/evaluated_set.h"
#include "seq2seq/metrics/bleu.h"
#include "seq2seq/metrics/chrf.h"
#include "seq2seq/metrics/ter.h"

namespace regard {

using Sentences = std::vector<std::string>;
using References = std::vector<std::vector<std::string>>;

// Returns the metric of the corpus. `statistics` maps a prediction and its
// references to the statistics of the sentence.
template <typename F>
double CorpusScore(const Aggregate& aggregate, const Sentences& predictions,
                   const References& references, F statistics) {
  MetricOverExamples metric = {"corpus", &aggregate};
  for (size_t i = 0; i < predictions.size(); ++i) {
    metric.Add(statistics(predictions[i], references[i]));
  }
  return metric.Value();
}

inline double CorpusBleu(const Sentences& predictions,
                         const References& references,
                         BleuTokenizer tokenizer = BleuTokenizer::k13a) {
  return CorpusScore(kBleu, predictions, references,
                     [&](const auto& prediction, const auto& wanted) {
                       return BleuStatistics(prediction, wanted, tokenizer);
                     });
}

inline double CorpusChrf(const Sentences& predictions,
                         const References& references, int word_order = 0) {
  return CorpusScore(word_order == 0 ? kChrf : kChrfPlusPlus, predictions,
                     references,
                     [&](const auto& prediction, const auto& wanted) {
                       return ChrfStatistics(prediction, wanted, word_order);
                     });
}

inline double CorpusTer(const Sentences& predictions,
                        const References& references) {
  return CorpusScore(kTer, predictions, references,
                     [](const auto& prediction, const auto& wanted) {
                       return TerStatistics(prediction, wanted);
                     });
}

}  // namespace regard

#endif  // SEQ2SEQ_TESTING_CORPUS_SCORE_H_
