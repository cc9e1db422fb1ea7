// Lists the scoring functions of this repository.

#include <cstdio>
#include <string>

#include "absl/status/status.h"
#include "attention/attention_registry.h"
#include "attention/scoring/built_in_scores.h"
#include "attention/scoring_function.h"
#include "experiments/config/command_line.h"
#include "files/json_file.h"
#include "tools/score_list.h"

int main(int argc, char** argv) {
  constexpr int kMaxWidth = 65536;
  int query = 64;
  int key = 64;
  int heads = 1;
  regard::CommandLine command_line(
      "Lists the scoring functions that a config's `attention` may choose.");
  command_line.Number("query", &query, 1, kMaxWidth, "width of the query");
  command_line.Number("key", &key, 1, kMaxWidth, "width of the key");
  command_line.Number("heads", &heads, 1, kMaxWidth, "number of heads");
  bool json = false;
  command_line.Switch("json", &json, "prints an object: docs/json.md");
  const absl::Status status = command_line.Parse(argc, argv);
  if (!status.ok()) return regard::ExitCode(status);
  regard::AttentionRegistry scorers;
  regard::RegisterBuiltInScores(scorers);
  const regard::ScoreWidths widths = {
      .heads = heads, .query = query, .key = key};
  const std::string text =
      json ? regard::JsonText(regard::ScoresJson(scorers, widths)) + "\n"
           : regard::ListScores(scorers, widths);
  std::fputs(text.c_str(), stdout);
  return regard::FinishOutput();
}
