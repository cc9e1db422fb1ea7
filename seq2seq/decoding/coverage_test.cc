// Tests the coverage term with a decoder whose attention has exact zeros.
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "autodiff/tape.h"
#include "gtest/gtest.h"
#include "nn/forward.h"
#include "nn/parameters.h"
#include "seq2seq/decoder.h"
#include "seq2seq/decoder_state.h"
#include "seq2seq/decoding/search.h"
#include "seq2seq/decoding/search.pb.h"
#include "seq2seq/memory.h"
#include "seq2seq/testing/bigram_decoder.h"

namespace regard {
namespace {

// A decoder that attends to exactly one of two keys, as a sparse normalizer may
// do. It attends to the second key after `id`, and to the first key after any
// other id.
class SparseDecoder : public BigramDecoder {
 public:
  explicit SparseDecoder(std::vector<std::vector<double>> p, int32_t id = -1)
      : BigramDecoder(std::move(p)), id_(id) {}

  Var<float> Advance(Forward<float>& forward, absl::Span<const int32_t> ids,
                     absl::Span<const int32_t> lengths,
                     DecoderState<float>* state) const override {
    Tape<float>& tape = forward.tape();
    const NameScope<float> decoder(tape, "decoder");
    const NameScope<float> attention(tape, "attention");
    const auto queries = static_cast<int64_t>(ids.size());
    const Var<float> weights = tape.Full({1, 1, queries, 2}, 0);
    for (int64_t i = 0; i < queries; ++i) {
      weights.data()[2 * i + (ids[static_cast<size_t>(i)] == id_ ? 1 : 0)] = 1;
    }
    forward.Site("weights", weights);
    return BigramDecoder::Advance(forward, ids, lengths, state);
  }

 private:
  int32_t id_;
};

// Returns `beam` hypotheses, the results of a beam search.
std::vector<Hypothesis> Best(const SparseDecoder& decoder, int beam,
                             double coverage_penalty) {
  ParameterStore<float> none;
  none.Finalize(0);
  Tape<float> tape;
  Forward<float> forward(tape, none, nullptr);
  const EnsembleMember member = {&decoder, &forward, [](Forward<float>&) {
                                   return Memory<float>{.sources = 1};
                                 }};
  const SourceSearchInputs source = {.max_length = 6};
  SearchConfig config;
  config.set_beam(beam);
  config.set_n_best(beam);
  config.set_length_penalty(0);
  config.set_coverage_penalty(coverage_penalty);
  return Search({.members = {&member, 1}, .sources = {&source, 1}}, config)[0];
}

std::vector<Hypothesis> BestThree(double coverage_penalty) {
  // Rows are the probabilities after <bos> and after each of two words. The
  // columns are <eos> and the words.
  const SparseDecoder decoder({{},
                               {},
                               {0, 0, 0, 0.1, 0.5, 0.4},
                               {},
                               {0, 0, 0, 0.3, 0.1, 0.6},
                               {0, 0, 0, 0.23, 0.42, 0.35}});
  return Best(decoder, 3, coverage_penalty);
}

TEST(CoverageTest, ASourceWithoutAttentionLeavesScoresFinite) {
  const std::vector<Hypothesis> with = BestThree(0.5);
  const std::vector<Hypothesis> without = BestThree(0);
  ASSERT_EQ(with.size(), without.size());
  for (size_t i = 0; i < with.size(); ++i) {
    EXPECT_EQ(with[i].ids, without[i].ids);
    EXPECT_NEAR(with[i].score, without[i].score + 0.5 * std::log(1e-8), 1e-9);
  }
}

// The empty sentence is complete first. At that step, the sentence of one word
// has a lower score, because it has not yet attended to the second key.
TEST(CoverageTest, TheSearchContinuesWhileCoverageCanGrow) {
  constexpr int32_t kWord = 4;
  const SparseDecoder decoder(
      {{}, {}, {0, 0, 0, 0.55, 0.45}, {}, {0, 0, 0, 0.9, 0.1}}, kWord);
  const std::vector<Hypothesis> best = Best(decoder, 1, 0.1);
  ASSERT_EQ(best.size(), 1u);
  EXPECT_EQ(best[0].ids, std::vector<int32_t>({kWord}));
  EXPECT_NEAR(best[0].score, std::log(0.45 * 0.9), 1e-6);
  EXPECT_TRUE(Best(decoder, 1, 0)[0].ids.empty());
}

}  // namespace
}  // namespace regard
