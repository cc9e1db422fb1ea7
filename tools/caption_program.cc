#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "attention/inspection/inspection.h"
#include "attention/inspection/trace.h"
#include "autodiff/worker_pool.h"
#include "evaluation/prediction.h"
#include "experiments/report/inspection_page.h"
#include "experiments/report/terminal_text.h"
#include "experiments/run.h"
#include "files/file.h"
#include "files/number_text.h"
#include "options/command_line.h"
#include "pretrained/pretrained_folder.h"
#include "seq2seq/decoding/search.pb.h"
#include "third_party/abseil_backport/status_macros.h"
#include "tools/programs.h"
#include "tools/search_flags.h"
#include "vision/caption_model.h"
#include "vision/caption_tokens.h"

namespace regard {

namespace {

constexpr char kUsage[] =
    "Writes captions of images with the captioner of a run.\n\n"
    "  caption --run=DIR [--prompt=TEXT] [--beam=N] [--inspect] IMAGE...\n\n"
    "DIR is a run folder or a Hugging Face model folder of a BLIP model. "
    "IMAGE\n"
    "is a PNG or JPEG file. Each caption is one line of standard output and\n"
    "begins with the prompt. With --n_best, a line is INDEX ||| CAPTION |||\n"
    "SCORE: images are counted from 0, and the best caption comes first.\n"
    "--inspect writes caption_N.html into the run folder, or into the current\n"
    "directory for a Hugging Face model folder.\n\n"
    "Examples:\n"
    "  caption --run=runs/captions photo.jpg\n"
    "  caption --model=blip-image-captioning-base --prompt='a picture of' "
    "photo.jpg";

struct Arguments {
  RunSelectionFlags run;
  std::string prompt;
  int length = -1;  // -1 if not given
  SearchFlags search;
  bool inspect = false;
  int threads = HardwareThreads();
  std::vector<std::string> images;
};

absl::Status ParseArguments(int argc, char** argv, Arguments* arguments) {
  CommandLine line(kUsage);
  AddRunSelectionFlags(line, &arguments->run);
  AddPrecisionFlag(line, &arguments->run.precision);
  line.Text("prompt", "TEXT", &arguments->prompt,
            "text that each caption begins with", "as in training");
  line.Number("length", &arguments->length, 1, 99999, kLengthHelp,
              kRunConfigDefault);
  AddSearchFlags(line, &arguments->search);
  line.Switch("inspect", &arguments->inspect,
              "writes one page per image with the attention and gradients of "
              "each word");
  line.Number("threads", &arguments->threads, 1, 1024, kThreadsHelp,
              kThreadsDefault);
  line.Positional(&arguments->images, "IMAGE");
  REGARD_RETURN_IF_ERROR(line.Parse(argc, argv));
  UseLatestRun(&arguments->run);
  if (arguments->images.empty()) {
    return absl::InvalidArgumentError(
        "error: at least one IMAGE is required; see --help");
  }
  return absl::OkStatus();
}

// Writes the page of one sentence, and prints its path.
absl::Status Draw(const Run& run, const CaptionModel& model,
                  const PredictionRequest& request,
                  const std::vector<int32_t>& ids, const std::string& page) {
  REGARD_ASSIGN_OR_RETURN(const TraceablePrediction<float> traced,
                          model.Trace(request, ids));
  const InspectedPrediction prediction = {
      .inspection = Inspect(run.forward(), traced, InspectOptions())};
  REGARD_RETURN_IF_ERROR(WriteFileAtomically(
      page, InspectionHtml(prediction, run.config().name())));
  std::fprintf(stderr, "Page  %s\n", page.c_str());
  return absl::OkStatus();
}

// Prints a sentence about image `image`, preceded by the number of the image if
// `numbered`.
void Print(size_t image, const CaptionModel::Described& sentence,
           bool numbered) {
  const std::string text =
      isatty(STDOUT_FILENO) != 0 ? PrintableText(sentence.text) : sentence.text;
  if (numbered) {
    std::printf("%zu ||| %s ||| %s\n", image, text.c_str(),
                NumberText(sentence.score).c_str());
  } else {
    std::printf("%s\n", text.c_str());
  }
}

absl::Status WriteCaptions(int argc, char** argv, const Plugins& plugins) {
  Arguments arguments;
  REGARD_RETURN_IF_ERROR(ParseArguments(argc, argv, &arguments));
  REGARD_ASSIGN_OR_RETURN(const Run run, OpenRun(arguments.run, plugins));
  const auto* const model = run.model<CaptionModel>();
  if (model == nullptr) {
    return absl::InvalidArgumentError(absl::StrCat(
        "error: ", run.path(),
        ": the model of this run is not a captioner; caption requires a run "
        "with model.captioner, or a BLIP model"));
  }
  const auto page_of = [&](size_t image) {
    const std::string name = absl::StrCat("caption_", image + 1, ".html");
    return ContainsPretrainedModel(run.path()) ? ResolveUserPath(name)
                                               : JoinPath(run.path(), name);
  };
  SearchConfig search = run.config().search();
  if (arguments.length > 0) {
    search.set_max_length_ratio(0);
    search.set_max_length(arguments.length + 1);  // includes the end token
  }
  REGARD_RETURN_IF_ERROR(ApplySearchFlags(arguments.search, &search));
  WorkerPool pool(arguments.threads);
  const InferenceThreads help(pool);
  PredictionRequest request;
  if (!arguments.prompt.empty()) request.prompt = arguments.prompt;
  for (const std::string& note : model->tokens().UnknownWordNotes(
           CaptionTokens::SplitIntoWords(arguments.prompt))) {
    std::fprintf(stderr, "note: %s\n", note.c_str());
  }
  int64_t written = 0;
  int64_t at_limit = 0;
  for (size_t i = 0; i < arguments.images.size(); ++i) {
    const auto located = [&](const absl::Status& status) {
      return absl::Status(status.code(), absl::StrCat("error: image ", i + 1,
                                                      ": ", status.message()));
    };
    request.text = arguments.images[i];
    const auto sentences = model->Describe(run.forward(), request, search);
    if (!sentences.ok()) return located(sentences.status());
    for (const CaptionModel::Described& sentence : *sentences) {
      Print(i, sentence, search.n_best() > 1);
      ++written;
      if (sentence.at_limit) ++at_limit;
    }
    if (!arguments.inspect) continue;
    const absl::Status drawn =
        Draw(run, *model, request, sentences->front().ids, page_of(i));
    if (!drawn.ok()) return located(drawn);
  }
  if (at_limit > 0) {
    std::fprintf(
        stderr, "%s\n",
        absl::StrCat("note: ", at_limit, " of ", written,
                     " captions were cut at their maximum length; raise it "
                     "with --length=N, up to the number of positions of the "
                     "model")
            .c_str());
  }
  return absl::OkStatus();
}

}  // namespace

int CaptionMain(int argc, char** argv, const Plugins& plugins) {
  FlushDenormalsToZero();
  return ExitCode(WriteCaptions(argc, argv, plugins));
}

}  // namespace regard
