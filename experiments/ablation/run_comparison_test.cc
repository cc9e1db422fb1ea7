#include "experiments/ablation/run_comparison.h"

#include <cmath>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "third_party/abseil_backport/status_matchers.h"

namespace regard {
namespace {

using ::regard::testing::StatusIs;
using ::testing::HasSubstr;

StoredRun Finished() {
  StoredRun run;
  run.config = {{"seed", "1"}, {"optimizer", "{...}"}, {"optimizer.rate", "2"}};
  run.status.state = RunState::kFinished;
  run.status.step = 10;
  run.status.metrics = {{"dev/bleu", 40}, {"dev/loss", 0.5}};
  run.status.weights_digest = "ab";
  return run;
}

TEST(RunComparisonText, SaysThatARepeatedRunIsTheSame) {
  EXPECT_EQ(RunComparisonText(Finished(), Finished()),
            "config: no field differs\n"
            "metrics that moved: none\n"
            "metrics that are equal:\n"
            "  dev/bleu  40\n"
            "  dev/loss  0.5\n"
            "weights: the same bits\n");
}

TEST(RunComparisonText, ListsWhatDiffersAndWhatMoved) {
  StoredRun other = Finished();
  other.config[2] = {"optimizer.rate", "3"};
  other.config.push_back({"name", "\"b\""});
  other.status.step = 20;
  other.status.metrics = {
      {"dev/bleu", 42}, {"dev/loss", 0.5}, {"test/loss", 1}};
  other.status.weights_digest = "cd";
  EXPECT_EQ(RunComparisonText(Finished(), other),
            "config:\n"
            "  name            not set -> \"b\"\n"
            "  optimizer.rate  2 -> 3\n"
            "step: 10 -> 20\n"
            "metrics that moved:\n"
            "  dev/bleu   40 -> 42  (+2, +5.00 %)\n"
            "  test/loss  missing -> 1\n"
            "metrics that are equal:\n"
            "  dev/loss  0.5\n"
            "weights: differ\n");
}

TEST(RunComparisonText, HasNoChangeOfWhatIsNotFinite) {
  StoredRun other = Finished();
  other.status.state = RunState::kFailed;
  other.status.metrics["dev/loss"] = NAN;
  other.status.weights_digest.clear();
  EXPECT_EQ(RunComparisonText(other, Finished()),
            "config: no field differs\n"
            "state: failed -> finished\n"
            "metrics that moved:\n"
            "  dev/loss  nan -> 0.5\n"
            "metrics that are equal:\n"
            "  dev/bleu  40\n"
            "weights: not known\n");
}

TEST(ReadStoredRun, NamesTheFileThatIsMissing) {
  EXPECT_THAT(
      ReadStoredRun("no/such/run"),
      StatusIs(absl::StatusCode::kInvalidArgument,
               HasSubstr("no run there: no/such/run/run.json: cannot open")));
}

}  // namespace
}  // namespace regard
