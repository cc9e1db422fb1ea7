// Computes one attention of given arrays.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/types/span.h"
#include "attention/attend.h"
#include "attention/attention.pb.h"
#include "attention/attention_registry.h"
#include "attention/mask.h"
#include "attention/multi_head.h"
#include "attention/scoring_function.h"
#include "autodiff/tape.h"
#include "experiments/config/command_line.h"
#include "experiments/config/reader.h"
#include "experiments/tasks/plugins.h"
#include "files/config_text.h"
#include "files/file.h"
#include "files/json_file.h"
#include "nlohmann/json.hpp"
#include "nn/config_problems.h"
#include "nn/forward.h"
#include "nn/parameters.h"
#include "nn/probe.h"
#include "third_party/abseil_backport/status_macros.h"
#include "tools/attention_arrays.h"
#include "tools/programs.h"

namespace regard {

namespace {

constexpr char kUsage[] =
    "Computes one attention of given arrays.\n\n"
    "  attend --attention='dot {}' --arrays=FILE [--heads=N] [--json]\n\n"
    "Prints the scores, weights and context of each query, a line each, with\n"
    "their shapes. FILE is one object of JSON, which - reads from standard "
    "input,\n"
    "or ends in .safetensors:\n\n"
    "  {\"queries\": [[1, 0, 2]],              [batch,] queries, width\n"
    "   \"keys\": [[0, 1, 1], [4, 4, 0]],      [batch,] keys, width\n"
    "   \"values\": [[1, 2], [2, 8]],          [batch,] keys, width\n"
    "   \"key_lengths\": 2}                    keys that an example sees, or "
    "each query\n\n"
    "With heads, the widths are cut into as many equal parts, and the contexts "
    "of\n"
    "the parts are joined: multi-head attention without its projections. "
    "Learned\n"
    "parameters have the values that a training would begin with.";
// More are not printed as text.
constexpr int64_t kMostPrinted = 2000;
constexpr int64_t kMostWeights = int64_t{1} << 27;

// NaN where a number is none: the score of a key that the query does not see.
struct Output {
  std::string name;
  NumberArray array;
};

std::string NumberText(double number, int digits) {
  return std::isnan(number) ? "-" : absl::StrFormat("%.*g", digits, number);
}

// A line for each row, under the indices of the axes before.
std::string ArrayText(const Output& output, int digits) {
  const auto& [shape, numbers] = output.array;
  const auto count = static_cast<int64_t>(numbers.size());
  std::string text = absl::StrCat(output.name, " ", ShapeText(shape));
  if (count > kMostPrinted) {
    return absl::StrCat(text, ": ", count, " numbers, see --json\n");
  }
  absl::StrAppend(&text, "\n");
  size_t width = 0;
  for (const double number : numbers) {
    width = std::max(width, NumberText(number, digits).size());
  }
  const int64_t columns = shape.back();
  const int64_t rows = shape[shape.size() - 2];
  for (int64_t i = 0; i < count; ++i) {
    if (shape.size() > 2 && i % (rows * columns) == 0) {
      int64_t block = i / (rows * columns);
      std::string place;
      for (size_t axis = shape.size() - 2; axis-- > 0;) {
        place = absl::StrCat("[", block % shape[axis], "]", place);
        block /= shape[axis];
      }
      absl::StrAppend(&text, " ", place, "\n");
    }
    absl::StrAppend(
        &text, "  ",
        absl::StrFormat("%*s", width, NumberText(numbers[i], digits)),
        (i + 1) % columns == 0 ? "\n" : "");
  }
  return text;
}

// The lists of axis `axis` on, whose first number is numbers[*next].
nlohmann::ordered_json Nested(const NumberArray& array, size_t axis,
                              size_t* next) {
  if (axis == array.shape.size()) return array.numbers[(*next)++];
  auto list = nlohmann::ordered_json::array();
  for (int64_t i = 0; i < array.shape[axis]; ++i) {
    list.push_back(Nested(array, axis + 1, next));
  }
  return list;
}

void Print(absl::Span<const Output> outputs, bool json, int digits) {
  if (!json) {
    for (const Output& output : outputs) {
      std::fputs(ArrayText(output, digits).c_str(), stdout);
    }
    return;
  }
  nlohmann::ordered_json object;
  for (const Output& output : outputs) {
    size_t next = 0;
    object[output.name] = Nested(output.array, 0, &next);
  }
  for (const Output& output : outputs) {
    object["shapes"][output.name] = output.array.shape;
  }
  std::puts(JsonText(object).c_str());
}

absl::Status ReadAttention(const std::string& text,
                           const AttentionRegistry& scorers,
                           const ScoreWidths& widths, Attention* attention) {
  ConfigOrigins origins;
  REGARD_RETURN_IF_ERROR(
      ReadText(ConfigText::File("--attention", text), attention, &origins));
  ConfigProblems problems;
  scorers.Validate(*attention, widths, problems);
  REGARD_RETURN_IF_ERROR(LocateProblems(problems, origins));
  const ScorerInfo* const info = scorers.Find(*attention);
  if (info != nullptr && info->uses_history) {
    std::fprintf(stderr,
                 "note: %s reads the weights of earlier queries: of each query "
                 "here they are 0, as of a first one\n",
                 info->name.c_str());
  }
  return absl::OkStatus();
}

absl::Status CheckSizes(const AttentionArrays& arrays, int heads) {
  for (const auto& [name, array] : {std::pair{"queries", &arrays.queries},
                                    {"keys", &arrays.keys},
                                    {"values", &arrays.values}}) {
    if (array->shape[2] % heads != 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("error: --heads=", heads, " does not divide ",
                       array->shape[2], ", the width of ", name));
    }
  }
  const double weights = static_cast<double>(arrays.queries.shape[0]) * heads *
                         static_cast<double>(arrays.queries.shape[1]) *
                         static_cast<double>(arrays.keys.shape[1]);
  if (weights > static_cast<double>(kMostWeights)) {
    return absl::InvalidArgumentError(
        absl::StrFormat("error: there would be %.0f weights, at most %d can be "
                        "computed at once",
                        weights, kMostWeights));
  }
  return absl::OkStatus();
}

// Scores and weights are [batch, heads, queries, keys].
std::vector<Output> Attend(const AttentionLayer<double>& layer,
                           const ParameterStore<double>& parameters,
                           const Attention& attention,
                           const AttentionArrays& arrays, int heads) {
  Tape<double> tape;
  Forward<double> forward(tape, parameters, nullptr);
  SiteRecorder<double> sites({"attention/scores", "attention/weights"});
  forward.set_probe(&sites);
  forward.BeginStep();
  const auto split = [&](const NumberArray& array) {
    return SplitHeads(tape.Constant(Shape(array.shape), array.numbers), heads);
  };
  AttendInputs<double> inputs;
  inputs.score.queries = split(arrays.queries);
  inputs.score.keys =
      layer.Prepare(forward, split(arrays.keys), /*key_position=*/0);
  inputs.score.mask = {.key_lengths = arrays.key_lengths,
                       .window = attention.window()};
  inputs.values = split(arrays.values);
  const Shape shape = {arrays.queries.shape[0], heads, arrays.queries.shape[1],
                       arrays.keys.shape[1]};
  const Var<double> context = MergeHeads(layer.Attend(forward, inputs).context);

  std::vector<double> scores = sites.Find("attention/scores")->value;
  const MaskReader mask(inputs.score.mask, {}, shape[0], shape[2], shape[3]);
  for (int64_t i = 0; i < shape.size(); ++i) {
    const int64_t query = i / shape[3];
    const int64_t example = query / shape[2] / heads;
    if (!mask(example, query % shape[2])(i % shape[3])) {
      scores[i] = std::numeric_limits<double>::quiet_NaN();
    }
  }
  std::vector<int64_t> per_pair = {shape[2], shape[3]};
  std::vector<int64_t> per_query = {shape[2], arrays.values.shape[2]};
  if (heads > 1) per_pair.insert(per_pair.begin(), heads);
  if (arrays.has_batch) {
    per_pair.insert(per_pair.begin(), shape[0]);
    per_query.insert(per_query.begin(), shape[0]);
  }
  return {{"scores", {per_pair, std::move(scores)}},
          {"weights", {per_pair, sites.Find("attention/weights")->value}},
          {"context",
           {per_query, {context.data(), context.data() + context.size()}}}};
}

absl::StatusOr<AttentionArrays> ReadStandardInput() {
  constexpr char kName[] = "standard input";
  std::string text;
  std::array<char, 1 << 16> part;
  while (const size_t size = std::fread(part.data(), 1, part.size(), stdin)) {
    text.append(part.data(), size);
    if (static_cast<int64_t>(text.size()) > kMostTextFileBytes) {
      return absl::InvalidArgumentError(absl::StrCat(
          kName, ": error: longer than ", kMostTextFileBytes >> 20, " MiB"));
    }
  }
  if (std::ferror(stdin) != 0) {
    return absl::DataLossError(absl::StrCat("error: cannot read ", kName));
  }
  return ParseAttentionArrays(text, kName);
}

absl::Status AttendArrays(int argc, char** argv,
                          const AttentionRegistry& scorers) {
  std::string text;
  std::string path;
  int heads = 1;
  int seed = 1;
  int digits = 5;
  bool json = false;
  CommandLine line(kUsage);
  line.Text("attention", "TEXT", &text,
            "as a config's `attention`; //tools:scores lists the scores");
  line.Text("arrays", "FILE", &path,
            "queries, keys, values, key_lengths; -: standard input");
  line.Number("heads", &heads, 1, 65536, "1 if not given");
  line.Number("digits", &digits, 1, 17, "of a printed number, 5 if not given");
  line.Switch("json", &json, "prints one object of JSON, all digits");
  line.Number("seed", &seed, 0, std::numeric_limits<int>::max(),
              "of learned parameters, 1 if not given");
  REGARD_RETURN_IF_ERROR(line.Parse(argc, argv));
  if (text.empty() || path.empty()) {
    return absl::InvalidArgumentError(
        "error: --attention and --arrays must be given; see --help");
  }
  REGARD_ASSIGN_OR_RETURN(const AttentionArrays arrays,
                          path == "-"
                              ? ReadStandardInput()
                              : ReadAttentionArrays(ResolveUserPath(path)));
  REGARD_RETURN_IF_ERROR(CheckSizes(arrays, heads));
  const ScoreWidths widths = {.heads = heads,
                              .query = arrays.queries.shape[2] / heads,
                              .key = arrays.keys.shape[2] / heads};
  Attention attention;
  REGARD_RETURN_IF_ERROR(ReadAttention(text, scorers, widths, &attention));

  ParameterStore<double> parameters;
  const AttentionLayer<double> layer(scorers, attention, parameters.Root(),
                                     widths);
  parameters.Finalize(static_cast<uint64_t>(seed));
  REGARD_RETURN_IF_ERROR(WithErrorPrefix(parameters.status()));
  const int64_t distance =
      std::max(arrays.queries.shape[1], arrays.keys.shape[1]) - 1;
  if (distance > layer.LongestDistance()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "error: queries and keys are up to ", distance,
        " positions apart; this attention knows ", layer.LongestDistance()));
  }
  const std::vector<Output> outputs =
      Attend(layer, parameters, attention, arrays, heads);
  for (const double number : outputs.back().array.numbers) {
    if (std::isfinite(number)) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("error: the context is not finite: the numbers of ",
                     path == "-" ? "standard input" : path,
                     " are too large, or the score is not defined for them"));
  }
  Print(outputs, json, digits);
  return absl::OkStatus();
}

}  // namespace

int AttendMain(int argc, char** argv, const Plugins& plugins) {
  return ExitCode(AttendArrays(argc, argv, plugins.scorers));
}

}  // namespace regard
