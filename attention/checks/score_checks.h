// Checks that every scoring function has to pass. `scores --check` runs them on
// formulas, and the generated tests of scores run the same checks.
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

struct CheckedScore {
  const AttentionRegistry& registry;
  const ScorerInfo& info;  // of the registry
  const google::protobuf::Message& options;
  ScoreWidths widths;
};

// Two heads; query and key differ if valid options allow it. nullopt if they
// are invalid.
std::optional<ScoreWidths> CheckedWidths(
    const ScorerInfo& info, const google::protobuf::Message& options);

// The score with fields of regard.Attention, as a valid text proto.
Attention ConfigWith(const CheckedScore& score, const char* fields);

struct ScoreCheck {
  const char* name;  // "PaddingChangesNothing"
  void (*run)(const CheckedScore& score, Expectations& expect);
};

// All checks, with the lists below.
std::vector<ScoreCheck> ScoreChecks();

// The checks with each position encoding and in parts, by blocks of queries,
// with a sink, and with a forgetting gate.
std::vector<ScoreCheck> ScorePositionChecks();
std::vector<ScoreCheck> ScoreBlockChecks();
std::vector<ScoreCheck> ScoreSinkChecks();
std::vector<ScoreCheck> ScoreForgetChecks();

}  // namespace regard

#endif  // ATTENTION_CHECKS_SCORE_CHECKS_H_
