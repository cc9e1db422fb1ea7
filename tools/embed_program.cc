#include <cstdio>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "autodiff/worker_pool.h"
#include "data/text/prepared_text.h"
#include "evaluation/prediction.h"
#include "experiments/run.h"
#include "language/bert_model.h"
#include "language/sentence_embedder.h"
#include "language/text_vectors.h"
#include "options/command_line.h"
#include "third_party/abseil_backport/status_macros.h"
#include "tools/programs.h"

namespace regard {

namespace {

constexpr char kUsage[] =
    "Computes sentence embeddings with the BERT of a run.\n\n"
    "  embed --run=DIR [--pairs] [--threads=N]\n\n"
    "Reads one sentence per line from standard input. Prints each embedding "
    "as\n"
    "a line of numbers separated by spaces. With --pairs, a line holds two\n"
    "sentences separated by a tab, and their similarity is printed. DIR is a\n"
    "run folder or a Hugging Face model folder of a BERT model.\n\n"
    "Examples:\n"
    "  embed --run=runs/words <sentences.txt >embeddings.txt\n"
    "  embed --model=all-MiniLM-L6-v2 --pairs <pairs.tsv";
// Maximum number of texts that are embedded together. If no further input is
// available, fewer texts are embedded.
constexpr size_t kMaxTexts = 4096;

// Prints the embedding of each text, or the similarity of each pair. Returns
// false if the output cannot be written.
bool PrintNumbers(SentenceEmbedder& embedder, bool pairs,
                  absl::Span<const std::string> texts) {
  const auto width = static_cast<size_t>(embedder.width());
  std::vector<float> vectors(texts.size() * width);
  embedder.Embed(texts, absl::MakeSpan(vectors));
  std::string output;
  const absl::Span<const float> all = vectors;
  for (size_t i = 0; i < texts.size(); i += pairs ? 2 : 1) {
    const absl::Span<const float> vector = all.subspan(i * width, width);
    if (pairs) {
      const float similarity = static_cast<float>(
          Similarity(vector, all.subspan((i + 1) * width, width)));
      absl::StrAppend(&output, VectorText({similarity}), "\n");
    } else {
      absl::StrAppend(&output, VectorText(vector), "\n");
    }
  }
  return std::fwrite(output.data(), 1, output.size(), stdout) ==
             output.size() &&
         std::fflush(stdout) == 0;
}

absl::Status PrintAll(const Run& run, SentenceEmbedder& embedder, bool pairs) {
  std::vector<std::string> texts;  // texts that are not embedded yet
  const auto flush = [&] {
    const bool written = PrintNumbers(embedder, pairs, texts);
    texts.clear();
    return written;
  };
  const auto add = [&](const InputLine& line) -> absl::StatusOr<bool> {
    const auto wrong = [&](absl::string_view problem) {
      return absl::InvalidArgumentError(
          absl::StrCat("error: line ", line.number, ": ", problem));
    };
    const absl::Status is_text = CheckIsText({.text = line.text});
    if (!is_text.ok()) return wrong(is_text.message());
    // Splits at most twice, because a third part suffices to reject the line.
    const std::vector<std::string> parts =
        absl::StrSplit(line.text, absl::MaxSplits('\t', 2));
    if (pairs && parts.size() == 1 &&
        IsBlankLine(line.text, /*text_version=*/1)) {
      return flush() && std::puts("") >= 0;  // an empty line has no similarity
    }
    if (pairs && parts.size() != 2) {
      return wrong(
          "must be two sentences separated by a tab, as --pairs requires");
    }
    if (pairs) {
      texts.insert(texts.end(), parts.begin(), parts.end());
    } else {
      texts.push_back(line.text);
    }
    return texts.size() < kMaxTexts || flush();
  };
  return ReadInput(run, {.add = add, .flush = flush});
}

absl::Status Embed(int argc, char** argv, const Plugins& plugins) {
  RunSelectionFlags flags;
  bool pairs = false;
  int threads = HardwareThreads();
  CommandLine line(kUsage);
  AddRunSelectionFlags(line, &flags);
  AddPrecisionFlag(line, &flags.precision);
  line.Switch("pairs", &pairs,
              "prints the similarity of each pair of sentences, from -1 to 1");
  line.Number("threads", &threads, 1, 1024, kThreadsHelp, kThreadsDefault);
  REGARD_RETURN_IF_ERROR(line.Parse(argc, argv));
  UseLatestRun(&flags);
  REGARD_ASSIGN_OR_RETURN(const Run run, OpenRun(flags, plugins));
  const auto* const model = run.model<BertBasedModel>();
  if (model == nullptr) {
    return absl::InvalidArgumentError(absl::StrCat(
        "error: ", run.path(),
        ": the model of this run is not a BERT model; embed requires one"));
  }
  REGARD_RETURN_IF_ERROR(CheckNoInterventions(run, "embed"));
  VectorOptions vectors = model->vectors();
  if (pairs) vectors.normalize = true;  // because a similarity is a cosine
  SentenceEmbedder embedder(model->bert(), run.task().model().parameters(),
                            model->pieces(), model->longest(), threads,
                            vectors);
  return PrintAll(run, embedder, pairs);
}

}  // namespace

int EmbedMain(int argc, char** argv, const Plugins& plugins) {
  FlushDenormalsToZero();
  return ExitCode(Embed(argc, argv, plugins));
}

}  // namespace regard
