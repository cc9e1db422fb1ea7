#include "attention/checks/key_selection_checks.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "attention/attention.pb.h"
#include "attention/attention_registry.h"
#include "attention/checks/config_choice.h"
#include "attention/checks/scoring_problem.h"
#include "attention/key_ranges.h"
#include "attention/scoring/built_in_scores.h"
#include "attention/scoring_function.h"
#include "attention/selections/selection.pb.h"
#include "autodiff/tape.h"
#include "google/protobuf/text_format.h"
#include "nn/forward.h"
#include "nn/parameters.h"
#include "third_party/abseil_backport/check.h"

namespace regard {

namespace {

constexpr double kRounding = 1e-10;
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr ScoreWidths kWidths = {.heads = 2, .query = 4, .key = 4};
// Enough for two blocks of keys and three blocks of queries.
constexpr int64_t kLength = 300;

// The blocked kernel computes the configs before "gaussian". The remaining
// configs are computed row by row.
constexpr const char* kConfigs[] = {
    "scaled_dot {}",
    "scaled_dot {} position_encoding { rotary {} } sink {} dropout: 0.3",
    "cosine {} position_encoding { alibi {} } window: 70",
    "gaussian {} window: 70 block: 128",
    "gaussian {} position_encoding { alibi {} } dropout: 0.3 block: 128",
    "dot {} normalizer { sparsemax {} } window: 70 block: 128",
    "scaled_dot {} map_before { soft_cap { cap: 2 } } sink {} block: 128",
    "scaled_dot {} map_after { soft_cap { cap: 0.5 } } dropout: 0.3 "
    "position_encoding { alibi {} } block: 128"};

// Creates layers that attend with the selection, or without it.
class Layers {
 public:
  explicit Layers(const KeySelectionToCheck& checked)
      : choice_(ConfigWithChoice<KeySelectionConfig>(checked.options)) {
    RegisterBuiltInScores(scorers_);
    if (scorers_.selections.Find(choice_) == nullptr) {
      checked.register_selection(scorers_.selections);
    }
  }

  template <typename T>
  ScorerUnderTest<T> Selecting(const char* config) const {
    Attention attention = Parsed(config);
    *attention.mutable_selection() = choice_;
    return ScorerUnderTest<T>(scorers_, attention, kWidths);
  }
  template <typename T>
  ScorerUnderTest<T> Plain(const char* config) const {
    return ScorerUnderTest<T>(scorers_, Parsed(config), kWidths);
  }

 private:
  static Attention Parsed(const char* config) {
    Attention attention;
    REGARD_CHECK(
        google::protobuf::TextFormat::ParseFromString(config, &attention))
        << config;
    return attention;
  }

  AttentionRegistry scorers_;
  KeySelectionConfig choice_;
};

ScoringProblem Causal(int64_t batch, int64_t length = kLength) {
  ScoringProblem problem =
      ScoringProblem::Random(batch, length, length, kWidths);
  problem.causal = true;
  return problem;
}

std::vector<std::pair<std::string, ScoringProblem>> Problems() {
  std::vector<std::pair<std::string, ScoringProblem>> problems;
  const auto add = [&](const char* name, ScoringProblem problem) {
    problems.emplace_back(name, std::move(problem));
  };
  add("causal", Causal(1));
  ScoringProblem later = ScoringProblem::Random(1, 5, kLength, kWidths);
  later.causal = true;
  later.positions = {.first_query = 290, .first_key = 3};
  add("a few late queries", later);
  ScoringProblem open = ScoringProblem::Random(2, 130, kLength, kWidths);
  add("open", open);
  ScoringProblem ragged = open;
  ragged.key_lengths = {270, 9};
  add("ragged", ragged);
  ScoringProblem dense = ScoringProblem::Random(1, 20, kLength, kWidths);
  for (int64_t i = 0; i < 20 * kLength; ++i) {
    dense.dense.push_back(i / kLength != 1 && i % 3 != 0);
  }
  add("dense", dense);
  ScoringProblem hidden = ScoringProblem::Random(1, 20, 60, kWidths);
  for (int64_t i = 0; i < 20; ++i) hidden.excluded.push_back(2 * i);
  add("a hidden key each", hidden);
  ScoringProblem alternatives = ScoringProblem::Random(1, 3, 60, kWidths);
  alternatives.causal = true;
  alternatives.positions = {.first_query = 40, .query_step = 0};
  add("alternatives", alternatives);
  return problems;
}

// Returns the part of a result for the first `queries` queries of one example.
ScoringResult PartOf(const ScoringResult& result, int64_t example,
                     int64_t queries) {
  const int64_t one[] = {example};
  const std::vector<int64_t> rows = Range(0, queries);
  ScoringResult part;
  part.context = Take(Take(result.context, 0, one), 2, rows);
  part.d_queries = Take(Take(result.d_queries, 0, one), 2, rows);
  return part;
}

void SameRows(const ScoringResult& got, const ScoringResult& expected,
              const std::string& what, Expectations& expect) {
  expect.Near(got.context, expected.context, 0, what + ": context");
  expect.Near(got.d_queries, expected.d_queries, 0, what + ": d queries");
}

void IsReachableByAConfig(const KeySelectionToCheck& checked,
                          Expectations& expect) {
  const auto config = ConfigWithChoice<KeySelectionConfig>(checked.options);
  expect.True(checked.registry.Find(config) == &checked.info,
              checked.info.name +
                  " is neither a member of regard.KeySelectionConfig.selection "
                  "nor an extension of regard.OutsideKeySelection");
  expect.True(!checked.info.description.empty(), "it has no description");
}

void RangesRiseWithinTheKeys(const KeySelectionToCheck& checked,
                             Expectations& expect) {
  const std::unique_ptr<KeySelection<float>> selection =
      checked.registry.Create<float>(
          ConfigWithChoice<KeySelectionConfig>(checked.options), kWidths);
  ParameterStore<float> store;
  store.Finalize(1);
  Tape<float> tape;
  Forward<float> forward(tape, store, nullptr);
  for (const auto& [queries, keys] :
       {std::pair(0, 5), {5, 0}, {1, 1}, {7, 3}, {130, 300}}) {
    for (const bool causal : {false, true}) {
      forward.BeginStep();
      const auto input = [&](int64_t rows, const char* purpose) {
        const TestArray array = RandomArray({2, 2, rows, 4}, purpose);
        return tape.Input(array.shape, std::vector<float>(array.values.begin(),
                                                          array.values.end()));
      };
      ScoreInputs<float> in;
      in.queries = input(queries, "queries");
      in.keys = input(keys, "keys");
      in.mask.causal = causal;
      const KeyRanges ranges = selection->Select(forward, in);
      expect.True(ranges.has_value(), "it returns KeyRanges()");
      for (int64_t row = 0; row < 2 * 2 * queries; ++row) {
        int64_t end = -1;
        for (const KeyRange& range :
             ranges(row / queries / 2, row / queries % 2, row % queries)) {
          expect.True(
              end < range.begin && range.begin < range.end && range.end <= keys,
              absl::StrCat("range ", range.begin, " to ", range.end, " of ",
                           keys, " keys after one to ", end));
          end = range.end;
        }
      }
    }
  }
}

// Other examples of the batch, and padding after an example, must not change
// any bit of the example's context.
void OtherExamplesAndPaddingChangeNoBit(const KeySelectionToCheck& checked,
                                        Expectations& expect) {
  const Layers layers(checked);
  const std::vector<int32_t> lengths = {kLength, 137};
  ScoringProblem batch = Causal(2);
  batch.key_lengths = lengths;
  for (TestArray* padded : {&batch.keys, &batch.values}) {
    const int64_t width = padded->shape[3];
    for (int64_t head = 2; head < 4; ++head) {
      std::fill(padded->values.begin() + (head * kLength + 137) * width,
                padded->values.begin() + (head + 1) * kLength * width, kNaN);
    }
  }
  for (const char* config : kConfigs) {
    ScorerUnderTest<float> scorer = layers.Selecting<float>(config);
    const ScoringResult together = scorer.ComputeContextOnly(batch);
    for (int64_t i = 0; i < 2; ++i) {
      const int64_t one[] = {i};
      const std::vector<int64_t> rows = Range(0, lengths[i]);
      ScoringProblem alone = batch.TakeExamplesWithoutMask(one)
                                 .TakeQueriesWithoutMask(rows)
                                 .TakeKeysWithoutMask(rows);
      alone.causal = true;
      // Gradients are not compared, because the random projection of the
      // context depends on the number of queries.
      expect.Near(scorer.ComputeContextOnly(alone).context,
                  PartOf(together, i, lengths[i]).context, 0,
                  absl::StrCat(config, ", example ", i));
    }
  }
}

void TheFutureChangesNoBit(const KeySelectionToCheck& checked,
                           Expectations& expect) {
  const Layers layers(checked);
  const ScoringProblem problem = Causal(1);
  for (const int64_t seen : {1, 130, 299}) {
    ScoringProblem changed = problem;
    for (TestArray* array :
         {&changed.queries, &changed.keys, &changed.values}) {
      const int64_t width = array->shape[3];
      for (int64_t i = 0; i < static_cast<int64_t>(array->values.size()); ++i) {
        if (i / width % kLength >= seen) array->values[i] += 3;
      }
    }
    for (const char* config : kConfigs) {
      ScorerUnderTest<float> scorer = layers.Selecting<float>(config);
      SameRows(PartOf(scorer.ComputeContextOnly(changed), 0, seen),
               PartOf(scorer.ComputeContextOnly(problem), 0, seen),
               absl::StrCat(config, ", ", seen, " queries"), expect);
    }
  }
}

void StepByStepHasTheBitsOfAllAtOnce(const KeySelectionToCheck& checked,
                                     Expectations& expect) {
  const Layers layers(checked);
  const auto check = [&](const char* config, int64_t length,
                         bool want_weights) {
    ScorerUnderTest<float> scorer = layers.Selecting<float>(config);
    const ScoringProblem problem = Causal(1, length);
    const ScoringResult all = want_weights ? scorer.Compute(problem)
                                           : scorer.ComputeContextOnly(problem);
    expect.Near(scorer.ComputeContextStepwise(problem, want_weights).context,
                all.context, 0, absl::StrCat(config, ", ", length, " steps"));
  };
  for (const char* config : kConfigs) {
    check(config, 100, /*want_weights=*/true);
    check(config, 140, /*want_weights=*/false);
  }
  // kConfigs[0] uses the blocked kernel, and kConfigs[3] is computed row by
  // row. 270 keys do not fit into one block of keys.
  check(kConfigs[0], 270, /*want_weights=*/false);
  check(kConfigs[3], 270, /*want_weights=*/false);
}

// Compares paths that only read selected keys with a path that computes all
// scores.
void AllPathsAgree(const KeySelectionToCheck& checked, Expectations& expect) {
  const Layers layers(checked);
  for (const char* config : kConfigs) {
    ScorerUnderTest<double> scorer = layers.Selecting<double>(config);
    scorer.set_training(true);
    for (const auto& [name, problem] : Problems()) {
      ScoringResult got = scorer.ComputeContextOnly(problem);
      const ScoringResult expected = scorer.ComputeWeightsAndContext(problem);
      // ComputeContextOnly() returns no weights, so weights are not compared.
      got.weights = expected.weights;
      const std::string what = absl::StrCat(config, ", ", name);
      expect.SameExceptParameterGradients(got, expected, kRounding, what);
      expect.SameParameterGradients(got, expected, kRounding);
      expect.AllFinite(got);
    }
  }
}

// Values of keys that no query sees must have no effect.
void UnselectedValuesReachNothing(const KeySelectionToCheck& checked,
                                  Expectations& expect) {
  const Layers layers(checked);
  for (const char* config : kConfigs) {
    ScorerUnderTest<float> scorer = layers.Selecting<float>(config);
    for (const auto& [name, problem] : Problems()) {
      const TestArray weights =
          scorer.ComputeWeightsAndContext(problem).weights;
      const ScoringResult expected = scorer.ComputeContextOnly(problem);
      ScoringProblem changed = problem;
      const int64_t queries = weights.shape[2];
      const int64_t keys = weights.shape[3];
      // Compares only every second query. Values that none of these queries
      // sees are NaN.
      for (int64_t key = 0; key < weights.shape[0] * 2 * keys; ++key) {
        bool seen = false;
        for (int64_t q = 0; q < queries; q += 2) {
          seen |=
              weights.values[(key / keys * queries + q) * keys + key % keys] !=
              0;
        }
        if (seen) continue;
        std::fill_n(changed.values.values.begin() + key * 3, 3, kNaN);
      }
      std::vector<int64_t> even;
      for (int64_t q = 0; q < queries; q += 2) even.push_back(q);
      const auto rows = [&](const ScoringResult& result) {
        ScoringResult part;
        part.context = Take(result.context, 2, even);
        part.d_queries = Take(result.d_queries, 2, even);
        return part;
      };
      SameRows(rows(scorer.ComputeContextOnly(changed)), rows(expected),
               absl::StrCat(config, ", ", name), expect);
    }
  }
}

void IsPlainAttentionWhereItSaysSo(const KeySelectionToCheck& checked,
                                   Expectations& expect) {
  if (!checked.is_plain) return expect.Skip("it is not with these options");
  const Layers layers(checked);
  for (const char* config : kConfigs) {
    ScorerUnderTest<float> selecting = layers.Selecting<float>(config);
    ScorerUnderTest<float> plain = layers.Plain<float>(config);
    for (ScorerUnderTest<float>* scorer : {&selecting, &plain}) {
      scorer->set_training(true);
    }
    for (const auto& [name, problem] : Problems()) {
      const std::string what = absl::StrCat(config, ", ", name);
      expect.SameExceptParameterGradients(selecting.Compute(problem),
                                          plain.Compute(problem), 0,
                                          what + ", with weights");
      const ScoringResult got = selecting.ComputeContextOnly(problem);
      const ScoringResult expected = plain.ComputeContextOnly(problem);
      expect.SameExceptParameterGradients(got, expected, 0, what);
      expect.SameParameterGradients(got, expected, 0);
    }
  }
}

}  // namespace

std::vector<KeySelectionCheck> KeySelectionChecks() {
  return {
      {"IsReachableByAConfig", &IsReachableByAConfig},
      {"RangesRiseWithinTheKeys", &RangesRiseWithinTheKeys},
      {"OtherExamplesAndPaddingChangeNoBit",
       &OtherExamplesAndPaddingChangeNoBit},
      {"TheFutureChangesNoBit", &TheFutureChangesNoBit},
      {"StepByStepHasTheBitsOfAllAtOnce", &StepByStepHasTheBitsOfAllAtOnce},
      {"AllPathsAgree", &AllPathsAgree},
      {"UnselectedValuesReachNothing", &UnselectedValuesReachNothing},
      {"IsPlainAttentionWhereItSaysSo", &IsPlainAttentionWhereItSaysSo},
  };
}

}  // namespace regard
