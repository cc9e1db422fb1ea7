// Computes the attention of arrays that the user provides.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
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
#include "attention/multi_head.pb.h"
#include "attention/scoring_function.h"
#include "autodiff/shape.h"
#include "autodiff/tape.h"
#include "experiments/tasks/plugins.h"
#include "files/file.h"
#include "files/json_file.h"
#include "google/protobuf/message.h"
#include "nlohmann/json.hpp"
#include "nn/forward.h"
#include "nn/hook.h"
#include "nn/parameters.h"
#include "nn/weights.h"
#include "options/command_line.h"
#include "options/config_problems.h"
#include "options/config_text.h"
#include "options/reader.h"
#include "third_party/abseil_backport/status_macros.h"
#include "tools/attention_inputs.h"
#include "tools/programs.h"

namespace regard {

namespace {

constexpr char kUsage[] =
    "Computes attention over given arrays.\n\n"
    "  attend --attention=TEXT --arrays=FILE [--heads=N] [--json]\n"
    "  attend --multi_head=TEXT --arrays=FILE [--json]\n\n"
    "Prints the scores, weights and context, one query per line, with their\n"
    "shapes. FILE is a .safetensors file or a JSON object such as this one:\n\n"
    "  {\"queries\": [[1, 0, 2]],              [batch,] queries, width\n"
    "   \"keys\": [[0, 1, 1], [4, 4, 0]],      [batch,] keys, width\n"
    "   \"values\": [[1, 2], [2, 8]],          [batch,] keys, width\n"
    "   \"key_lengths\": 2,                    visible keys per example or per "
    "query\n"
    "   \"mask\": [1, 0]}                      [batch,] [queries,] keys; 1: "
    "visible\n\n"
    "With --heads, each head gets an equal part of every width, and the\n"
    "contexts of the heads are concatenated: multi-head attention without its\n"
    "projections. --multi_head also projects queries, keys, values and the\n"
    "concatenated contexts. Learned parameters have their initial values.\n\n"
    "Examples:\n"
    "  attend --attention='dot {}' --arrays=arrays.json\n"
    "  attend --multi_head='heads: 8 attention { scaled_dot {} }' --arrays=- "
    "<a.json";
// Maximum number of elements of an array that is printed as text.
constexpr int64_t kMaxPrinted = 2000;
// Maximum number of attention weights.
constexpr int64_t kMaxWeights = int64_t{1} << 27;

// Computes the output [batch, queries, width] of an attention layer. Queries,
// keys and values are [batch, n, width].
using Layer = absl::FunctionRef<Var<double>(
    Forward<double>& forward, Var<double> queries, Var<double> keys,
    Var<double> values, const Mask& mask)>;

// Arguments of a computation, except the layer.
struct Call {
  const AttentionInputs* arrays;
  int heads;
  bool by_heads;  // whether to print the axis of heads
  int64_t window;
  int64_t longest_distance;
  const char* output;  // name of the output
};

// An output array. Scores of masked keys are NaN.
struct Output {
  std::string name;
  NumberArray array;
};

std::string NumberText(double number, int digits) {
  return std::isnan(number) ? "-" : absl::StrFormat("%.*g", digits, number);
}

// Returns an array as text. Each matrix is preceded by the indices of its outer
// axes, and has one line per row.
std::string ArrayText(const Output& output, int digits) {
  const auto& [shape, numbers] = output.array;
  const auto count = static_cast<int64_t>(numbers.size());
  std::string text = absl::StrCat(output.name, " ", ShapeText(shape));
  if (count > kMaxPrinted) {
    return absl::StrCat(text, ": ", count,
                        " numbers; use --json to print them\n");
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

// Returns axis `axis` and the following axes of an array as nested lists. The
// first number is numbers[*next].
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

// Parses a flag whose value is a config. `validate` adds problems of the
// config.
absl::Status ReadConfigFlag(
    const char* flag, const std::string& text,
    absl::FunctionRef<void(ConfigProblems& problems)> validate,
    google::protobuf::Message* config) {
  ConfigOrigins origins;
  REGARD_RETURN_IF_ERROR(
      ReadText(ConfigTextWithOrigin::File(flag, text), config, &origins));
  ConfigProblems problems;
  validate(problems);
  return LocateProblems(problems, origins);
}

absl::Status CheckHeads(const AttentionInputs& arrays, int heads) {
  for (const auto& [name, array] : {std::pair{"queries", &arrays.queries},
                                    {"keys", &arrays.keys},
                                    {"values", &arrays.values}}) {
    if (array->shape[2] % heads != 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("error: --heads=", heads, " must divide ",
                       array->shape[2], ", the width of `", name, "`"));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckSizes(const Call& call) {
  const int64_t queries = call.arrays->queries.shape[1];
  const int64_t keys = call.arrays->keys.shape[1];
  const double weights = static_cast<double>(call.arrays->queries.shape[0]) *
                         call.heads * static_cast<double>(queries) *
                         static_cast<double>(keys);
  if (weights > static_cast<double>(kMaxWeights)) {
    return absl::InvalidArgumentError(
        absl::StrFormat("error: the arrays require %.0f weights, but at most "
                        "%d can be computed at once; use fewer queries or keys",
                        weights, kMaxWeights));
  }
  const int64_t distance = std::max(queries, keys) - 1;
  if (distance > call.longest_distance) {
    return absl::InvalidArgumentError(
        absl::StrCat("error: queries and keys are up to ", distance,
                     " positions apart, but this attention supports at most ",
                     call.longest_distance, "; use at most ",
                     call.longest_distance + 1, " queries and keys"));
  }
  return absl::OkStatus();
}

// Returns the scores [batch, heads, queries, keys], with NaN for masked keys.
std::vector<double> VisibleScores(const SiteValueRecorder<double>::Seen& scores,
                                  const Mask& mask) {
  const Shape& shape = scores.shape;
  std::vector<double> visible = scores.value;
  const MaskReader reader(mask, {}, shape[0], shape[2], shape[3]);
  for (int64_t i = 0; i < shape.size(); ++i) {
    const int64_t query = i / shape[3];
    const int64_t example = query / shape[2] / shape[1];
    if (!reader(example, query % shape[2])(i % shape[3])) {
      visible[i] = std::numeric_limits<double>::quiet_NaN();
    }
  }
  return visible;
}

// Finalizes the parameters of the layer, and runs the layer.
absl::StatusOr<std::vector<Output>> Attend(const Call& call, Layer layer,
                                           ParameterStore<double>& parameters,
                                           int seed) {
  REGARD_RETURN_IF_ERROR(CheckSizes(call));
  parameters.Finalize(static_cast<uint64_t>(seed));
  REGARD_RETURN_IF_ERROR(EnsureErrorPrefix(CheckMemory(parameters)));
  Tape<double> tape;
  Forward<double> forward(tape, parameters, nullptr);
  SiteValueRecorder<double> sites(
      {"attention/scores", "attention/weights", "attention/context"});
  forward.set_hook(&sites);
  forward.BeginStep();
  const auto constant = [&](const NumberArray& array) {
    return tape.Constant(Shape(array.shape), array.numbers);
  };
  const AttentionInputs& arrays = *call.arrays;
  const std::vector<uint8_t> dense = DenseMask(arrays);
  const Mask mask = {
      .key_lengths = arrays.key_lengths, .window = call.window, .dense = dense};
  const Var<double> output =
      layer(forward, constant(arrays.queries), constant(arrays.keys),
            constant(arrays.values), mask);

  std::vector<Output> outputs;
  const auto add = [&](const char* name, const Shape& shape,
                       std::vector<double> numbers) {
    std::vector<int64_t> extents;
    for (int axis = 0; axis < shape.rank(); ++axis) {
      const bool is_heads = axis == 1 && shape.rank() == 4;
      if (axis == 0 ? arrays.has_batch : call.by_heads || !is_heads) {
        extents.push_back(shape[axis]);
      }
    }
    outputs.push_back({name, {std::move(extents), std::move(numbers)}});
  };
  const auto& scores = *sites.Find("attention/scores");
  add("scores", scores.shape, VisibleScores(scores, mask));
  const auto& weights = *sites.Find("attention/weights");
  add("weights", weights.shape, weights.value);
  if (call.by_heads) {
    const auto& context = *sites.Find("attention/context");
    add("head_context", context.shape, context.value);
  }
  add(call.output, output.shape(),
      {output.data(), output.data() + output.size()});
  return outputs;
}

// Implements --attention, which splits the user's arrays into heads.
absl::StatusOr<std::vector<Output>> AttendBare(const std::string& text,
                                               const AttentionRegistry& scorers,
                                               const AttentionInputs& arrays,
                                               int heads, int seed) {
  REGARD_RETURN_IF_ERROR(CheckHeads(arrays, heads));
  const ScoreWidths widths = {.heads = heads,
                              .query = arrays.queries.shape[2] / heads,
                              .key = arrays.keys.shape[2] / heads};
  Attention config;
  REGARD_RETURN_IF_ERROR(ReadConfigFlag(
      "--attention", text,
      [&](ConfigProblems& problems) {
        scorers.Validate(config, widths, problems);
      },
      &config));
  const ScorerInfo* const info = scorers.Find(config);
  if (info != nullptr && info->uses_history) {
    std::fprintf(stderr,
                 "note: %s reads the weights of earlier queries: here they are "
                 "0 for every query, as for the first one of a sequence\n",
                 info->name.c_str());
  }
  ParameterStore<double> parameters;
  const AttentionLayer<double> layer(scorers, config, parameters.Root(),
                                     widths);
  const auto attend = [&](Forward<double>& forward, Var<double> queries,
                          Var<double> keys, Var<double> values,
                          const Mask& mask) {
    AttendInputs<double> inputs;
    inputs.score.queries = SplitHeads(queries, heads);
    inputs.score.keys =
        layer.Prepare(forward, {.keys = SplitHeads(keys, heads)});
    inputs.score.mask = mask;
    inputs.values = SplitHeads(values, heads);
    return MergeHeads(layer.Attend(forward, inputs).context);
  };
  return Attend({&arrays, heads, heads > 1, config.window(),
                 layer.MaxDistance(), "context"},
                attend, parameters, seed);
}

// Implements --multi_head, which has projections.
absl::StatusOr<std::vector<Output>> AttendProjected(
    const std::string& text, const AttentionRegistry& scorers,
    const AttentionInputs& arrays, int seed) {
  const MultiHeadInputWidths widths = {
      arrays.queries.shape[2], arrays.keys.shape[2], arrays.values.shape[2]};
  MultiHead config;
  REGARD_RETURN_IF_ERROR(ReadConfigFlag(
      "--multi_head", text,
      [&](ConfigProblems& problems) {
        ValidateMultiHead(scorers, config, widths, problems);
        if (HasForget(config.attention())) {
          problems.Add("attention.forget",
                       "requires causal self-attention of a Transformer; here "
                       "queries may see all keys: remove `forget`");
        }
      },
      &config));
  if (HasLatent(config) && arrays.keys.numbers != arrays.values.numbers) {
    return absl::InvalidArgumentError(
        "error: `latent` computes keys and values from one input, but `keys` "
        "and `values` differ; make them equal or remove `latent`");
  }
  ParameterStore<double> parameters;
  const MultiHeadAttention<double> layer(scorers, config, parameters.Root(),
                                         widths);
  const auto attend = [&](Forward<double>& forward, Var<double> queries,
                          Var<double> keys, Var<double> values,
                          const Mask& mask) {
    return layer(
        forward, queries,
        layer.Prepare(forward, keys, HasLatent(config) ? keys : values),
        {.mask = mask});
  };
  return Attend({&arrays, config.heads(), true, config.attention().window(),
                 layer.MaxDistance(), "output"},
                attend, parameters, seed);
}

absl::StatusOr<AttentionInputs> ReadStandardInput() {
  constexpr char kName[] = "standard input";
  std::string text;
  std::array<char, 1 << 16> part;
  while (const size_t size = std::fread(part.data(), 1, part.size(), stdin)) {
    text.append(part.data(), size);
    if (static_cast<int64_t>(text.size()) > kMaxTextFileBytes) {
      return absl::InvalidArgumentError(
          absl::StrCat(kName, ": error: must not be longer than ",
                       kMaxTextFileBytes >> 20, " MiB"));
    }
  }
  if (std::ferror(stdin) != 0) {
    return absl::DataLossError(absl::StrCat("error: cannot read ", kName));
  }
  return ParseAttentionInputs(text, kName);
}

absl::Status AttendArrays(int argc, char** argv,
                          const AttentionRegistry& scorers) {
  std::string attention;
  std::string multi_head;
  std::string path;
  int heads = 0;
  int seed = 1;
  int digits = 5;
  bool json = false;
  CommandLine line(kUsage);
  line.Text("attention", "TEXT", &attention,
            "attention as in the field `attention` of a config, such as "
            "'dot {}'; //tools:scores lists the score functions");
  line.Text("multi_head", "TEXT", &multi_head,
            "multi-head attention as in the field `attention` of a config's "
            "`transformer`, such as 'heads: 2 attention { dot {} }'");
  line.Text("arrays", "FILE", &path,
            "file with the arrays (.safetensors or JSON); use - for JSON from "
            "standard input");
  line.Number("heads", &heads, 1, 65536,
              "number of attention heads; applies only to --attention", "1");
  line.Number("digits", &digits, 1, 17,
              "number of significant digits in printed text");
  line.Switch("json", &json, kJsonHelp);
  line.Number("seed", &seed, 0, std::numeric_limits<int>::max(),
              "random seed of the initial values of the learned parameters");
  REGARD_RETURN_IF_ERROR(line.Parse(argc, argv));
  if (attention.empty() == multi_head.empty() || path.empty()) {
    return absl::InvalidArgumentError(
        "error: --arrays and either --attention or --multi_head are required; "
        "see --help");
  }
  if (heads > 0 && !multi_head.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "error: --heads applies only to --attention; write `heads: ", heads,
        "` into the text of --multi_head"));
  }
  REGARD_ASSIGN_OR_RETURN(const AttentionInputs arrays,
                          path == "-"
                              ? ReadStandardInput()
                              : ReadAttentionInputs(ResolveUserPath(path)));
  REGARD_ASSIGN_OR_RETURN(
      const std::vector<Output> outputs,
      multi_head.empty()
          ? AttendBare(attention, scorers, arrays, std::max(heads, 1), seed)
          : AttendProjected(multi_head, scorers, arrays, seed));
  for (const double number : outputs.back().array.numbers) {
    if (std::isfinite(number)) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "error: the ", outputs.back().name, " is not finite: the numbers in ",
        path == "-" ? "standard input" : path,
        " are too large, or the score is undefined for them"));
  }
  Print(outputs, json, digits);
  return absl::OkStatus();
}

}  // namespace

int AttendMain(int argc, char** argv, const Plugins& plugins) {
  return ExitCode(AttendArrays(argc, argv, plugins.scorers));
}

}  // namespace regard
