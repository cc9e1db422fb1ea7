// Lists the scores and other plug-ins of attention, or explains and checks a
// score that is written as a formula.

#include <cstdio>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "attention/attention_registry.h"
#include "attention/scoring/formula.pb.h"
#include "attention/scoring_function.h"
#include "experiments/tasks/plugins.h"
#include "files/json_file.h"
#include "nlohmann/json.hpp"
#include "options/command_line.h"
#include "options/config_text.h"
#include "options/reader.h"
#include "tools/formula_report.h"
#include "tools/programs.h"
#include "tools/score_list.h"

namespace regard {
namespace {

constexpr char kUsage[] =
    "Lists the parts of attention: the scoring functions that a "
    "config's\n`attention` can choose, normalizers, position encodings, score\n"
    "maps, key selections, head outputs, state mixers, and parts such as\n"
    "sinks. With --formula, explains a formula and checks it as a score.\n\n"
    "  scores [--query=N] [--key=N] [--heads=N] [--json]\n"
    "  scores --formula=TEXT [--declare=TEXT] [--width=N] [--query=N] "
    "[--key=N]\n"
    "      [--heads=N]\n\n"
    "Examples:\n"
    "  scores --query=32 --key=32\n"
    "  scores --formula='v . tanh(W q + U k)' --width=16\n"
    "  scores --formula='q . k / sqrt(d) + b[i - j]' \\\n"
    "      --declare='parameter { name: \"b\" table { highest: 8 } }'";

int ShowFormula(const AttentionRegistry& scorers, const FormulaScore& formula,
                ScoreWidths widths) {
  // The inputs have the widths of all heads together.
  widths.query_input = widths.heads * widths.query;
  widths.key_input = widths.heads * widths.key;
  const absl::StatusOr<std::string> explained = ExplainFormula(formula, widths);
  if (!explained.ok()) return ExitCode(explained.status());
  int failed = 0;
  const std::string checks = CheckFormula(scorers, formula, &failed);
  std::printf("%s\n%s", explained->c_str(), checks.c_str());
  const int code = FlushStandardOutput();
  return code == 0 && failed > 0 ? kExitWrongInput : code;
}

}  // namespace

int ScoresMain(int argc, char** argv, const Plugins& plugins) {
  constexpr int kMaxWidth = 65536;
  int query = 64;
  int key = 64;
  int heads = 1;
  CommandLine command_line(kUsage);
  command_line.Number("query", &query, 1, kMaxWidth, "width of the query");
  command_line.Number("key", &key, 1, kMaxWidth, "width of the key");
  command_line.Number("heads", &heads, 1, kMaxWidth,
                      "number of attention heads");
  std::string formula;
  command_line.Text("formula", "TEXT", &formula,
                    "formula of the attention score of a query q and a key k, "
                    "such as 'q . k'");
  std::string declare;
  command_line.Text("declare", "TEXT", &declare,
                    "fields of `formula` as in a config, such as 'parameter { "
                    "name: \"b\" table { highest: 8 } }'");
  int width = 0;
  command_line.Number(
      "width", &width, 0, kMaxWidth,
      "width of the parameters where the formula does not determine it; 0: the "
      "width of the query");
  bool json = false;
  command_line.Switch("json", &json, kJsonHelp);
  const absl::Status status = command_line.Parse(argc, argv);
  if (!status.ok()) return ExitCode(status);
  const AttentionRegistry& scorers = plugins.scorers;
  const ScoreWidths widths = {.heads = heads, .query = query, .key = key};
  if (!formula.empty() && json) {
    return ExitCode(absl::InvalidArgumentError(
        "error: --json and --formula cannot be given together; remove one of "
        "them"));
  }
  if (formula.empty() && (width > 0 || !declare.empty())) {
    return ExitCode(absl::InvalidArgumentError(
        absl::StrCat("error: --", width > 0 ? "width" : "declare",
                     " applies only to --formula; remove it or give a "
                     "formula")));
  }
  if (!formula.empty()) {
    FormulaScore options;
    ConfigOrigins origins;
    if (!declare.empty()) {
      const absl::Status read = ReadText(
          ConfigTextWithOrigin::File("--declare", declare), &options, &origins);
      if (!read.ok()) return ExitCode(read);
    }
    options.set_score(formula);
    options.set_width(width);
    return ShowFormula(scorers, options, widths);
  }
  const std::string text = json ? JsonText(ScoresJson(scorers, widths)) + "\n"
                                : ListScores(scorers, widths);
  std::fputs(text.c_str(), stdout);
  return FlushStandardOutput();
}

}  // namespace regard
