#include <cstdint>
#include <cstdio>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "attention/formula/node.h"
#include "attention/inspection/explanation.h"
#include "attention/inspection/inspection.h"
#include "attention/inspection/patching.h"
#include "attention/inspection/site_rows.h"
#include "attention/inspection/trace.h"
#include "autodiff/worker_pool.h"
#include "data/data_source.h"
#include "data/pairs/sentence_source.h"
#include "data/sentence_pair.h"
#include "evaluation/prediction.h"
#include "experiments/report/explanation_report.h"
#include "experiments/report/inspection_page.h"
#include "experiments/report/inspection_report.h"
#include "experiments/report/run_results.h"
#include "experiments/report/terminal_text.h"
#include "experiments/run.h"
#include "files/file.h"
#include "files/json_file.h"
#include "files/printable_text.h"
#include "nlohmann/json.hpp"
#include "nn/forward.h"
#include "nn/hook.h"
#include "nn/scoped_hook.h"
#include "optimization/interventions/site_requests.h"
#include "options/command_line.h"
#include "pretrained/pretrained_folder.h"
#include "seq2seq/translation_model.h"
#include "third_party/abseil_backport/status_macros.h"
#include "tools/output_file.h"
#include "tools/programs.h"
#include "tools/row_report.h"

namespace regard {

namespace {

constexpr char kUsage[] =
    "Shows what a trained model attends to and how this affects its "
    "output:\nattention, gradients, heads, layers and inputs.\n\n"
    "  inspect --run=DIR [--example=N | INPUT] [--target=TEXT] [--output=N]\n"
    "      [--patch=SITE --from=INPUT] [--out=FILE.html] [--json]\n"
    "  inspect --run=DIR [INPUT] --out=FILE.svg [--layer=N] [--head=N]\n"
    "  inspect --run=DIR [INPUT] --sites [--json]\n"
    "  inspect --run=DIR INPUT --explain=SITE [--head=N] [--query=N] "
    "[--key=N]\n"
    "      [--json]\n"
    "  inspect --run=DIR [INPUT] --rows [--window=N] [--json]\n"
    "  inspect --model=DIR [--out=FILE.html] [--json] TEXT\n\n"
    "INPUT is a text, numbers or the path of an image, as the model requires.\n"
    "The page is written to inspect.html in the run folder, or in the current\n"
    "directory for a Hugging Face model folder. --out chooses another file: a\n"
    "page (.html), figures (.svg) or JSON (.json). With --json, no page is\n"
    "written unless --out is given.\n\n"
    "Examples:\n"
    "  inspect --run=runs/pairs 'they are watching .'\n"
    "  inspect --run=runs/pairs --example=0 --out=heads.svg --layer=0\n"
    "  inspect --run=runs/induction --example=0 --explain='*layers[1]*' "
    "--head=0";

constexpr int kWindow = 64;

struct Arguments {
  std::string run;
  std::string model;
  std::string source;
  int example = -1;  // -1 if not given
  std::string target;
  int beam = 0;     // 0 if not given
  int output = -1;  // -1 if not given
  std::string patch;
  std::string from;
  std::string out;
  std::string arrays;
  LayerHeadSelection figures;
  std::string explain;
  int query = -1;  // -1 if not given
  int key = -1;    // -1 if not given
  bool sites = false;
  bool rows = false;
  int window = kWindow;
  bool json = false;
};

absl::Status ParseArguments(int argc, char** argv, Arguments* arguments) {
  CommandLine line(kUsage);
  line.Text("run", "DIR", &arguments->run, kRunHelp, kRunDefault);
  line.Text("model", "DIR", &arguments->model, kModelHelp);
  line.Text("source", "INPUT", &arguments->source,
            "input of the model, in place of the argument INPUT");
  line.Number("example", &arguments->example, 0,
              std::numeric_limits<int>::max(), kExampleHelp);
  line.Text("target", "TEXT", &arguments->target, "output text to explain",
            "the model's own prediction");
  line.Number("beam", &arguments->beam, 1, 64,
              "number of hypotheses that beam search keeps; 1 is greedy search",
              kRunConfigDefault);
  line.Number("output", &arguments->output, 0, std::numeric_limits<int>::max(),
              "index, from 0, of the output word, class or [MASK] to explain",
              "the whole text or the most likely class");
  line.Text("patch", "SITE", &arguments->patch,
            "pattern of hook points (docs/interventions.md); shows how the "
            "output changes when their values come from the input of --from");
  line.Text("from", "INPUT", &arguments->from,
            "input whose values --patch inserts");
  line.Text("out", "FILE", &arguments->out,
            "file to write: a page (.html), figures (.svg) or JSON (.json)",
            "inspect.html");
  line.Text("arrays", "FILE", &arguments->arrays,
            "safetensors file to which all numbers are written");
  line.Number("layer", &arguments->figures.layer, 0, 1 << 20,
              "index of the layer that figures (.svg) show, from 0", "all");
  line.Number(
      "head", &arguments->figures.head, 0, 1 << 20,
      "index, from 0, of the head that figures (.svg) show or --explain "
      "explains; --explain requires it if there are several heads",
      "all in figures");
  line.Text("explain", "SITE", &arguments->explain,
            "hook point of an attention; explains how much each source in the "
            "residual stream adds to its score of a query and a key");
  line.Number("query", &arguments->query, 0, std::numeric_limits<int>::max(),
              "index of the query that --explain explains, from 0", "the last");
  line.Number("key", &arguments->key, 0, std::numeric_limits<int>::max(),
              "index of the key that --explain explains, from 0",
              "the key with the largest weight");
  line.Switch("sites", &arguments->sites,
              "lists the hook points for --patch and `intervene`, with their "
              "shapes, and exits");
  line.Switch("rows", &arguments->rows,
              "prints statistics of each row of attention weights and exits; "
              "works for every length of input that the model supports");
  line.Number("window", &arguments->window, 1, 1 << 30,
              "number of keys up to the position of the query; --rows prints "
              "the fraction of the weight on them",
              absl::StrCat(kWindow));
  line.Switch("json", &arguments->json, kJsonHelp);
  std::vector<std::string> sources;
  line.Positional(&sources, "INPUT");
  REGARD_RETURN_IF_ERROR(line.Parse(argc, argv));
  if (!arguments->source.empty()) sources.push_back(arguments->source);
  const auto wrong = [](const auto&... parts) {
    return absl::InvalidArgumentError(absl::StrCat("error: ", parts...));
  };
  if (sources.size() > 1) {
    return wrong("exactly one INPUT is required, got ", sources.size(),
                 "; put quotes around a text with spaces");
  }
  if (!sources.empty()) arguments->source = sources[0];
  if (!sources.empty() && arguments->example >= 0) {
    return wrong(
        "--example and INPUT cannot be given together; remove one of them");
  }
  if (!arguments->out.empty()) {
    REGARD_RETURN_IF_ERROR(CheckOutputFile(
        "--out", ResolveUserPath(arguments->out), {".html", ".svg", ".json"}));
  }
  if (!arguments->arrays.empty()) {
    REGARD_RETURN_IF_ERROR(CheckOutputFile(
        "--arrays", ResolveUserPath(arguments->arrays), {".safetensors"}));
  }
  if (arguments->patch.empty() != arguments->from.empty()) {
    return wrong("--patch=SITE and --from=INPUT must be given together");
  }
  const bool explains = !arguments->explain.empty();
  if (explains && (arguments->sites || !arguments->patch.empty() ||
                   !arguments->out.empty() || !arguments->arrays.empty())) {
    return wrong(
        "--explain cannot be combined with --sites, --patch, --out or "
        "--arrays; run inspect once for each");
  }
  const LayerHeadSelection& figures = arguments->figures;
  if ((figures.layer >= 0 || (figures.head >= 0 && !explains)) &&
      !absl::EndsWith(arguments->out, ".svg")) {
    std::fputs(
        "note: --layer and --head have no effect: they apply only to "
        "--out=FILE.svg, and --head to --explain\n",
        stderr);
  }
  if ((arguments->query >= 0 || arguments->key >= 0) && !explains) {
    std::fputs(
        "note: --query and --key have no effect: they apply only to "
        "--explain=SITE\n",
        stderr);
  }
  if (!arguments->rows && arguments->window != kWindow) {
    std::fputs("note: --window has no effect: it applies only to --rows\n",
               stderr);
  }
  if (arguments->rows &&
      (!arguments->out.empty() || !arguments->arrays.empty() ||
       !arguments->patch.empty() || arguments->output >= 0)) {
    std::fputs(
        "note: --out, --arrays, --patch and --output have no effect with "
        "--rows\n",
        stderr);
  }
  if (arguments->model.empty()) return absl::OkStatus();
  if (!arguments->run.empty()) {
    return wrong(
        "--run and --model cannot be given together; remove one of them");
  }
  if (!arguments->target.empty() || arguments->beam > 0 ||
      arguments->output >= 0 || arguments->example >= 0) {
    return wrong(
        "--target, --beam, --output and --example require --run and do not "
        "apply to --model");
  }
  return absl::OkStatus();
}

// Prepends the flag `where` to an error, so that the error can be printed as it
// is.
absl::Status Located(const char* where, const absl::Status& status) {
  if (status.ok()) return status;
  const absl::string_view message = status.message();
  for (const char* flag : {"target", "beam", "head", "query", "key"}) {
    if (absl::StartsWith(message, absl::StrCat(flag, ": "))) {
      return absl::InvalidArgumentError(absl::StrCat("error: --", message));
    }
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "error: ", where, ": ", absl::StripPrefix(message, "input: ")));
}

// Adds the gold alignment of a pair that the user typed, if the data source has
// one.
void AddGold(const Run& run, const Plugins& plugins,
             TraceablePrediction<float>* traced) {
  TraceDescription& labels = traced->labels;
  if (run.model<TranslationModel>() == nullptr || !labels.gold.empty()) return;
  const auto words = [](std::vector<std::string> all) {
    if (!all.empty() && all.back() == "<eos>") all.pop_back();
    return all;
  };
  const Experiment& config = run.config();
  for (const AlignmentLink& link :
       SentenceSourceOf(config.data(), plugins.data)
           ->GoldLinks({.path = config.data().path(), .seed = config.seed()},
                       words(labels.sequences[0].labels),
                       words(labels.sequences[1].writes))) {
    labels.gold.push_back({link.target, link.source});
  }
}

struct EncodedInput {
  TraceablePrediction<float> traced;
  std::optional<TraceablePrediction<float>> other = {};  // the trace of --from
};

absl::StatusOr<EncodedInput> AskRun(const Arguments& arguments, const Run& run,
                                    const Plugins& plugins) {
  TraceOptions options = {.beam = arguments.beam};
  if (!arguments.target.empty()) options.target = arguments.target;
  // Allows longer inputs for row statistics, which need only one pass.
  if (arguments.rows) options.most_tokens = int64_t{1} << 20;
  absl::StatusOr<TraceablePrediction<float>> traced = run.Trace(
      {.text = arguments.source, .example = arguments.example}, options);
  const std::string where = arguments.example >= 0
                                ? absl::StrCat("--example=", arguments.example)
                                : "input";
  REGARD_RETURN_IF_ERROR(Located(where.c_str(), traced.status()));
  AddGold(run, plugins, &*traced);
  EncodedInput asked = {.traced = *std::move(traced)};
  if (arguments.from.empty()) return asked;
  absl::StatusOr<TraceablePrediction<float>> other = run.Trace(
      {.text = arguments.from}, {.target = asked.traced.labels.target});
  REGARD_RETURN_IF_ERROR(Located("--from", other.status()));
  asked.other = *std::move(other);
  return asked;
}

absl::StatusOr<InspectedPrediction> Look(const Arguments& arguments,
                                         const EncodedInput& asked,
                                         Forward<float>& forward) {
  const TraceDescription& labels = asked.traced.labels;
  const auto outputs = static_cast<int64_t>(labels.outputs.size());
  if (arguments.output >= outputs) {
    return absl::InvalidArgumentError(absl::StrCat(
        "error: --output=", arguments.output, ": must be less than ", outputs,
        ", the number of outputs"));
  }
  const int64_t chosen =
      arguments.output >= 0 ? arguments.output : labels.chosen;
  InspectedPrediction prediction = {
      .inspection = Inspect(forward, asked.traced, {.chosen = chosen})};
  if (!asked.other.has_value()) return prediction;
  absl::StatusOr<PatchingResult> patched =
      Patch(forward, asked.traced, *asked.other, arguments.patch, chosen);
  REGARD_RETURN_IF_ERROR(Located("--patch", patched.status()));
  prediction.patched = *std::move(patched);
  prediction.other_input = asked.other->labels.input;
  return prediction;
}

// Returns the hook points with their shapes, in alphabetical order. Runs a
// forward pass over the input, or over two training examples if there is no
// input.
absl::StatusOr<SiteShapes> Sites(const Arguments& arguments, const Run& run,
                                 const Plugins& plugins) {
  SiteShapes sites;
  if (arguments.source.empty() && arguments.example < 0) {
    sites = RecordSiteShapes(run.task().model(), run.config().seed(), {"*"});
    if (sites.empty()) {
      return absl::InvalidArgumentError(
          "error: --sites: the run has no training examples; give an INPUT");
    }
  } else {
    REGARD_ASSIGN_OR_RETURN(const EncodedInput asked,
                            AskRun(arguments, run, plugins));
    SiteValueRecorder<float> recorder({"*"});
    const ScopedExtraHook<float> watch(run.forward(), &recorder);
    run.forward().BeginStep();
    asked.traced.pass(run.forward());
    for (const auto& seen : recorder.seen()) sites[seen.site] = seen.shape;
  }
  // Joins the steps of a recurrent decoder into one hook point.
  SiteShapes joined;
  for (const auto& [site, shape] : sites) {
    joined.try_emplace(AllStepsPattern(site), shape);
  }
  return joined;
}

absl::Status ListSites(const Arguments& arguments, const Run& run,
                       const Plugins& plugins) {
  REGARD_ASSIGN_OR_RETURN(const SiteShapes sites,
                          Sites(arguments, run, plugins));
  Table table = {{"site", "shape"}};
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const auto& [site, shape] : sites) {
    std::vector<int64_t> extents;
    for (int axis = 0; axis < shape.rank(); ++axis) {
      extents.push_back(shape[axis]);
    }
    table.rows.push_back(
        {site, absl::StrCat("[", absl::StrJoin(extents, ", "), "]")});
    list.push_back({{"site", site}, {"shape", extents}});
  }
  const std::string text =
      arguments.json
          ? absl::StrCat(JsonText({{"sites", std::move(list)}}), "\n")
          : TableText(table, std::numeric_limits<int>::max());
  std::fputs(text.c_str(), stdout);
  return absl::OkStatus();
}

void Tell(const std::vector<std::string>& notes) {
  for (const std::string& note : notes) {
    std::fprintf(stderr, "note: %s\n", note.c_str());
  }
}

absl::Status ExplainScore(const Arguments& arguments, const EncodedInput& asked,
                          Forward<float>& forward) {
  Tell(asked.traced.labels.notes);
  const absl::StatusOr<ScoreExplanation> explanation =
      Explain(forward, asked.traced,
              {.site = arguments.explain,
               .head = arguments.figures.head,
               .query = arguments.query,
               .key = arguments.key});
  REGARD_RETURN_IF_ERROR(Located("--explain", explanation.status()));
  if (explanation->weight == 0) {
    Tell(
        {"the weight is 0: a mask hides the key, or the head does not attend "
         "to it"});
  }
  const std::string text =
      arguments.json
          ? absl::StrCat(JsonText(ExplanationJson(*explanation)), "\n")
          : ExplanationText(*explanation);
  std::fputs(text.c_str(), stdout);
  return absl::OkStatus();
}

absl::Status ShowRows(const Arguments& arguments, const EncodedInput& asked,
                      Forward<float>& forward) {
  Tell(asked.traced.labels.notes);
  const std::vector<SiteRowStatistics> rows =
      RecordRowStatistics(forward, arguments.window, [&] {
        forward.BeginStep();
        asked.traced.pass(forward);
      });
  const std::string text =
      arguments.json
          ? absl::StrCat(JsonText(RowsJson(rows, arguments.window)), "\n")
          : TableText(RowsTable(rows, arguments.window),
                      std::numeric_limits<int>::max());
  std::fputs(text.c_str(), stdout);
  return absl::OkStatus();
}

absl::Status Show(const Arguments& arguments,
                  const InspectedPrediction& prediction,
                  const std::string& name, const std::string& page) {
  const Inspection<float>& inspection = prediction.inspection;
  Tell(inspection.labels.notes);
  std::string text;
  if (arguments.json) {
    text = absl::StrCat(JsonText(InspectionJson(prediction)), "\n");
  } else {
    text = InspectionText(inspection, TerminalStyle());
    if (inspection.AlignmentMap() == nullptr) {
      absl::StrAppend(&text, "\n",
                      TableText(HeadsTable(inspection), /*most_columns=*/60));
    }
  }
  std::fputs(text.c_str(), stdout);
  std::string out = ResolveUserPath(arguments.out);
  if (arguments.out.empty()) out = arguments.json ? "" : page;
  if (!out.empty()) {
    const std::string content =
        absl::EndsWith(out, ".json")
            ? absl::StrCat(JsonText(InspectionJson(prediction)), "\n")
        : absl::EndsWith(out, ".svg")
            ? InspectionSvg(prediction, arguments.figures)
            : InspectionHtml(prediction, name);
    REGARD_RETURN_IF_ERROR(
        EnsureErrorPrefix(WriteFileAtomically(out, content)));
    if (!arguments.json) std::printf("\nPage  %s\n", out.c_str());
  }
  if (arguments.arrays.empty()) return absl::OkStatus();
  return EnsureErrorPrefix(
      WriteInspectionArrays(prediction, ResolveUserPath(arguments.arrays)));
}

// Prints the notes that the run has stored about the parameters of its
// formulas.
void TellFormulas(const Run& run) {
  const absl::StatusOr<std::string> notes =
      ReadFile(JoinPath(run.path(), "notes.txt"));
  if (!notes.ok()) return;  // the run has no notes
  for (const absl::string_view note : absl::StrSplit(*notes, '\n')) {
    if (!absl::StrContains(note, kFormulaParameters)) continue;
    std::fprintf(stderr, "note: %s\n", PrintableText(note).c_str());
  }
}

absl::Status InspectModel(int argc, char** argv, const Plugins& plugins) {
  Arguments arguments;
  REGARD_RETURN_IF_ERROR(ParseArguments(argc, argv, &arguments));
  const bool is_run = arguments.model.empty();
  const std::string folder =
      is_run ? RunOrLatest(arguments.run) : arguments.model;
  const bool from_data = arguments.sites && arguments.source.empty();
  if (from_data && ContainsPretrainedModel(ResolveUserPath(folder))) {
    return absl::InvalidArgumentError(
        "error: --sites: this folder has no training examples; give an INPUT");
  }
  REGARD_ASSIGN_OR_RETURN(
      const Run run,
      OpenRun(folder, plugins, {.data = arguments.example >= 0 || from_data}));
  if (arguments.sites) return ListSites(arguments, run, plugins);
  TellFormulas(run);
  REGARD_ASSIGN_OR_RETURN(const EncodedInput asked,
                          AskRun(arguments, run, plugins));
  if (!arguments.explain.empty()) {
    return ExplainScore(arguments, asked, run.forward());
  }
  if (arguments.rows) return ShowRows(arguments, asked, run.forward());
  REGARD_ASSIGN_OR_RETURN(const InspectedPrediction prediction,
                          Look(arguments, asked, run.forward()));
  if (absl::EndsWith(arguments.out, ".svg")) {
    REGARD_RETURN_IF_ERROR(
        CheckLayerHeadSelection(prediction.inspection, arguments.figures));
  }
  return Show(arguments, prediction,
              is_run ? run.config().name() : arguments.model,
              is_run && !ContainsPretrainedModel(run.path())
                  ? JoinPath(run.path(), "inspect.html")
                  : ResolveUserPath("inspect.html"));
}

}  // namespace

int InspectMain(int argc, char** argv, const Plugins& plugins) {
  FlushDenormalsToZero();
  return ExitCode(InspectModel(argc, argv, plugins));
}

}  // namespace regard
