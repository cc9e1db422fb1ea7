// Checks that every scoring function must pass. Generated tests run them, and
// `scores --check` runs them on formulas.
#ifndef ATTENTION_CHECKS_SCORE_CHECKS_H_
#define ATTENTION_CHECKS_SCORE_CHECKS_H_

#include <optional>
#include <string>
#include <vector>

#include "attention/attention_registry.h"
#include "attention/checks/expectations.h"
#include "attention/scoring_function.h"
#include "google/protobuf/message.h"

namespace regard {

class Attention;

struct ScoreToCheck {
  const AttentionRegistry& registry;
  const ScorerInfo& info;  // registered in `registry`
  const google::protobuf::Message& options;
  ScoreWidths widths;
};

// Widths with two heads, and with different widths of query and key if the
// options allow it. `nullopt` if the options are invalid.
std::optional<ScoreWidths> TestWidths(const ScorerInfo& info,
                                      const google::protobuf::Message& options);

// The config of the score plus `fields`, which are a text proto of
// regard.Attention.
Attention ConfigWith(const ScoreToCheck& score, const char* fields);

struct ScoreCheck {
  const char* name;  // "PaddingChangesNothing"
  void (*run)(const ScoreToCheck& score, Expectations& expect);
};

// All checks, including the four lists below.
std::vector<ScoreCheck> ScoreChecks();

// Checks with each position encoding, and checks that prepare keys or score
// queries step by step.
std::vector<ScoreCheck> ScorePositionChecks();
// Checks that compute scores in blocks of queries.
std::vector<ScoreCheck> ScoreBlockChecks();
// Checks with a sink.
std::vector<ScoreCheck> ScoreSinkChecks();
// Checks with a forget gate.
std::vector<ScoreCheck> ScoreForgetChecks();

}  // namespace regard

#endif  // ATTENTION_CHECKS_SCORE_CHECKS_H_
