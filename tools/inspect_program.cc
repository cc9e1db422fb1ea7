#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "autodiff/tape.h"
#include "autodiff/worker_pool.h"
#include "data/data_source.h"
#include "data/pairs/sentence_source.h"
#include "experiments/config/command_line.h"
#include "experiments/experiment.pb.h"
#include "experiments/report/run_results.h"
#include "experiments/report/terminal_text.h"
#include "experiments/run.h"
#include "experiments/tasks/masked_words/bert_maps.h"
#include "experiments/tasks/translation/inspection.h"
#include "files/file.h"
#include "nn/forward.h"
#include "nn/parameters.h"
#include "pretrained/bert_folder.h"
#include "seq2seq/decoding/search.pb.h"
#include "seq2seq/translator.h"
#include "seq2seq/typed_sentence.h"
#include "third_party/abseil_backport/status_macros.h"
#include "tools/bert_inspection.h"
#include "tools/programs.h"

namespace regard {

namespace {

constexpr char kUsage[] =
    "Shows what a trained model attends to, and how much that matters.\n\n"
    "  inspect --run=DIR [--target=SENTENCE] [--beam=K] [--out=FILE] SENTENCE\n"
    "  inspect --model=DIR [--out=FILE] TEXT";
// Each word takes a pass over all before it.
constexpr size_t kMostWords = 100;

struct Arguments {
  std::string run;
  std::string model;
  std::string source;
  std::string target;
  std::string out;
  int beam = 0;  // 0: not given
};

absl::Status ParseArguments(int argc, char** argv, Arguments* arguments) {
  CommandLine line(kUsage);
  line.Text("run", "DIR", &arguments->run, "the run folder");
  line.Text("model", "DIR", &arguments->model,
            "the folder of a BERT, whose heads are shown");
  line.Text("source", "TEXT", &arguments->source,
            "the text to read, as the argument TEXT");
  line.Text("target", "SENTENCE", &arguments->target,
            "the translation to explain; without it, the model's own");
  line.Number("beam", &arguments->beam, 1, 64,
              "hypotheses kept in search of the model's own; 1 is greedy; "
              "without it, as in the run's config");
  line.Text("out", "FILE", &arguments->out,
            "the page to write; without it, inspect.html in the run folder, of "
            "a BERT in the working directory");
  std::vector<std::string> sources;
  line.Positional(&sources, "TEXT");
  REGARD_RETURN_IF_ERROR(line.Parse(argc, argv));
  if (!arguments->source.empty()) sources.push_back(arguments->source);
  if (sources.size() > 1) {
    return absl::InvalidArgumentError(absl::StrCat(
        "error: want one text, got ", sources.size(), "; quote its words"));
  }
  if (!sources.empty()) arguments->source = sources[0];
  if (arguments->model.empty()) return absl::OkStatus();
  if (!arguments->run.empty()) {
    return absl::InvalidArgumentError(
        "error: --run and --model: give one of them");
  }
  if (!arguments->target.empty() || arguments->beam > 0) {
    return absl::InvalidArgumentError(
        "error: --target and --beam are of a model that translates, --run");
  }
  return absl::OkStatus();
}

absl::Status CheckLength(const char* flag,
                         const std::vector<std::string>& words) {
  if (!words.empty() && words.size() <= kMostWords) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("error: ", flag,
                                                 " wants 1 to ", kMostWords,
                                                 " words, got ", words.size()));
}

absl::Status Located(const char* flag, const absl::Status& status) {
  if (status.ok()) return status;
  return absl::InvalidArgumentError(
      absl::StrCat("error: ", flag, ": ", status.message()));
}

std::vector<std::string> OwnTranslation(const Run& run,
                                        const Translator& translator,
                                        const std::vector<std::string>& source,
                                        int beam) {
  SearchConfig search = run.config().search();
  search.clear_n_best();
  if (beam > 0) {
    search.clear_sampling();
    search.set_beam(beam);
  }
  return translator.Words(
      translator
          .Translate(run.forward(), absl::MakeConstSpan(&source, 1), search,
                     /*want_weights=*/false)[0]
          .front());
}

void NameUnknown(const std::vector<std::string>& words,
                 const Vocabulary& vocabulary) {
  for (const std::string& word : words) {
    if (vocabulary.Contains(word) || word == "<unk>") continue;
    std::fprintf(stderr, "note: the model does not know '%s'\n", word.c_str());
  }
}

absl::Status Show(const std::string& text, const std::string& page,
                  const std::string& out) {
  std::fputs(text.c_str(), stdout);
  REGARD_RETURN_IF_ERROR(WithErrorPrefix(WriteFileAtomically(out, page)));
  std::printf("\nPage  %s\n", out.c_str());
  return absl::OkStatus();
}

absl::Status InspectTranslation(const Arguments& arguments,
                                const Plugins& plugins) {
  REGARD_ASSIGN_OR_RETURN(const Run run, OpenRun(arguments.run, plugins));
  REGARD_ASSIGN_OR_RETURN(const Translator* opened, TranslatorOf(run));
  const Translator& translator = *opened;
  if (!translator.has_attention()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "error: ", run.path(), ": this run's model does not attend"));
  }
  const std::vector<std::string> source =
      TypedSource(arguments.source, translator);
  REGARD_RETURN_IF_ERROR(CheckLength("--source", source));
  REGARD_RETURN_IF_ERROR(Located("--source", translator.CheckSource(source)));
  NameUnknown(source, translator.source_vocabulary());
  std::vector<std::string> target = TypedTarget(arguments.target, translator);
  if (arguments.target.empty()) {
    target = OwnTranslation(run, translator, source, arguments.beam);
    // A model that has not learned to end is shown as far as it makes sense.
    if (target.size() > kMostWords) target.resize(kMostWords);
    translator.CutTarget(&target);
  } else {
    REGARD_RETURN_IF_ERROR(CheckLength("--target", target));
  }
  REGARD_RETURN_IF_ERROR(Located("--target", translator.CheckTarget(target)));
  NameUnknown(target, translator.target_vocabulary());
  const Experiment& config = run.config();
  const DataRequest request = {.path = config.data().path(),
                               .seed = config.seed()};
  const Inspection inspection =
      Inspect(translator, source, target,
              SentenceSourceOf(config.data(), plugins.data)
                  ->GoldLinks(request, source, target));
  return Show(absl::StrCat(PrintableText(absl::StrJoin(inspection.target, " ")),
                           "\n\n", InspectionText(inspection, TerminalStyle())),
              InspectionHtml(inspection, config.name()),
              arguments.out.empty() ? absl::StrCat(run.path(), "/inspect.html")
                                    : ResolveUserPath(arguments.out));
}

absl::Status InspectHeads(const Arguments& arguments, const Plugins& plugins) {
  REGARD_ASSIGN_OR_RETURN(const PretrainedBert model,
                          ReadBertFolder(arguments.model, plugins.scorers));
  const std::vector<int32_t> ids = model.pieces->Encode(
      arguments.source, std::numeric_limits<int64_t>::max());
  const int64_t most = std::min(model.longest, int64_t{kMostWords});
  if (arguments.source.empty() || static_cast<int64_t>(ids.size()) > most) {
    return absl::InvalidArgumentError(
        absl::StrCat("error: --source wants a text of at most ", most,
                     " tokens, [CLS] and [SEP] included; got ", ids.size()));
  }
  Tape<float> tape;
  Forward<float> forward(tape, std::as_const(*model.parameters), nullptr);
  forward.BeginStep();
  const std::vector<LabelledMatrix> layers =
      BertMaps(*model.bert, *model.pieces, forward, {.size = 1, .ids = ids});
  return Show(
      absl::StrCat(PrintableText(absl::StrJoin(layers.at(0).rows, " ")), "\n\n",
                   TableText(HeadsTable(layers), /*most_columns=*/20)),
      BertInspectionHtml(layers, arguments.model),
      ResolveUserPath(arguments.out.empty() ? "inspect.html" : arguments.out));
}

absl::Status InspectModel(int argc, char** argv, const Plugins& plugins) {
  Arguments arguments;
  REGARD_RETURN_IF_ERROR(ParseArguments(argc, argv, &arguments));
  return arguments.model.empty() ? InspectTranslation(arguments, plugins)
                                 : InspectHeads(arguments, plugins);
}

}  // namespace

int InspectMain(int argc, char** argv, const Plugins& plugins) {
  FlushDenormalsToZero();
  return ExitCode(InspectModel(argc, argv, plugins));
}

}  // namespace regard
