// Prints a vector for each sentence, or the similarity of each pair.
#include <unistd.h>

#include <charconv>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/types/span.h"
#include "attention/attention_registry.h"
#include "attention/scoring/built_in_scores.h"
#include "autodiff/worker_pool.h"
#include "experiments/config/command_line.h"
#include "files/file.h"
#include "files/line_reader.h"
#include "language/sentence_embedder.h"
#include "pretrained/bert_folder.h"
#include "third_party/abseil_backport/status_macros.h"

namespace regard {

namespace {

constexpr char kUsage[] =
    "Computes vectors of sentences by a BERT.\n\n"
    "  embed --model=DIR [--pairs] [--threads=N] [--save=DIR]\n\n"
    "Reads sentences from standard input, one a line, and prints the vector "
    "of\n"
    "each as a line of numbers separated by spaces. With --pairs, a line "
    "holds\n"
    "two sentences separated by a tab, and their similarity is printed. The\n"
    "folder is Hugging Face's: config.json, model.safetensors, vocab.txt.";
constexpr size_t kMostLineBytes = size_t{16} << 20;
// Texts that are read before the first of them is answered, unless the input
// pauses.
constexpr size_t kMostTexts = 4096;

void AppendNumber(double number, std::string* text) {
  char buffer[32];
  const auto end = std::to_chars(buffer, buffer + sizeof(buffer),
                                 static_cast<float>(number));
  text->append(buffer, end.ptr);
}

// Prints the vector of each of `texts`, or the similarity of each two. False if
// the numbers cannot be written.
bool PrintNumbers(SentenceEmbedder& embedder, bool pairs,
                  absl::Span<const std::string> texts) {
  const auto width = static_cast<size_t>(embedder.width());
  std::vector<float> vectors(texts.size() * width);
  embedder.Embed(texts, absl::MakeSpan(vectors));
  std::string output;
  for (size_t i = 0; i < texts.size(); i += pairs ? 2 : 1) {
    const float* const vector = vectors.data() + i * width;
    if (pairs) {
      double product = 0;
      for (size_t j = 0; j < width; ++j) {
        product += double{vector[j]} * vector[width + j];
      }
      AppendNumber(product, &output);
    } else {
      for (size_t j = 0; j < width; ++j) {
        if (j > 0) output.push_back(' ');
        AppendNumber(vector[j], &output);
      }
    }
    output.push_back('\n');
  }
  return std::fwrite(output.data(), 1, output.size(), stdout) ==
             output.size() &&
         std::fflush(stdout) == 0;
}

absl::Status PrintAll(SentenceEmbedder& embedder, bool pairs) {
  LineReader reader(STDIN_FILENO, kMostLineBytes);
  std::vector<std::string> texts;  // that wait
  std::string line;
  bool cut;
  bool written = true;
  absl::Status wrong;
  for (int64_t number = 1; written && reader.Next(&line, &cut); ++number) {
    if (!line.empty() && line.back() == '\r') line.pop_back();
    // A third part is enough to refuse the line, however many tabs it has.
    const std::vector<std::string> parts =
        absl::StrSplit(line, absl::MaxSplits('\t', 2));
    if (pairs && parts.size() != 2) {
      wrong = absl::InvalidArgumentError(absl::StrCat(
          "error: line ", number, " is not two sentences separated by a tab"));
      break;
    }
    if (pairs) {
      texts.insert(texts.end(), parts.begin(), parts.end());
    } else {
      texts.push_back(line);
    }
    if (texts.size() < kMostTexts && reader.Ready()) continue;
    written = PrintNumbers(embedder, pairs, texts);
    texts.clear();
  }
  if (written && !texts.empty()) written = PrintNumbers(embedder, pairs, texts);
  if (!written) return absl::OkStatus();  // which the end of the program tells
  wrong.Update(reader.status("standard input"));
  return wrong;
}

absl::Status Embed(int argc, char** argv) {
  std::string folder;
  std::string save;
  bool pairs = false;
  int threads = HardwareThreads();
  CommandLine line(kUsage);
  line.Text("model", "DIR", &folder, "the folder of the model");
  line.Switch("pairs", &pairs, "prints similarities of pairs, from -1 to 1");
  line.Number("threads", &threads, 1, 1024,
              "changes no bit of a vector; without it, one per core");
  line.Text("save", "DIR", &save,
            "writes the model to this folder first, as transformers reads it");
  REGARD_RETURN_IF_ERROR(line.Parse(argc, argv));
  if (folder.empty()) {
    return absl::InvalidArgumentError(
        "error: --model=DIR must name the folder of a BERT");
  }
  AttentionRegistry scorers;
  RegisterBuiltInScores(scorers);
  REGARD_ASSIGN_OR_RETURN(const PretrainedBert model,
                          ReadBertFolder(folder, scorers));
  if (!save.empty()) {
    REGARD_RETURN_IF_ERROR(WithErrorPrefix(
        WriteBertFolder(model, ResolveUserPath(save), SystemFiles())));
  }
  SentenceEmbedder embedder(*model.bert, *model.parameters, *model.pieces,
                            model.longest, threads);
  return PrintAll(embedder, pairs);
}

}  // namespace

}  // namespace regard

int main(int argc, char** argv) {
  regard::FlushDenormalsToZero();
  return regard::ExitCode(regard::Embed(argc, argv));
}
