#include <unistd.h>

#include <climits>
#include <cstdint>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "autodiff/worker_pool.h"
#include "experiments/config/command_line.h"
#include "experiments/report/terminal_text.h"
#include "experiments/run.h"
#include "files/file.h"
#include "files/line_reader.h"
#include "language/generator.h"
#include "language/language_model.h"
#include "language/text_model.h"
#include "language/text_vocabulary.h"
#include "nn/forward.h"
#include "pretrained/gpt2_folder.h"
#include "third_party/abseil_backport/status_macros.h"
#include "tools/programs.h"
#include "tools/search_flags.h"

namespace regard {

namespace {

constexpr char kUsage[] =
    "Continues texts with the language model of a run.\n\n"
    "  generate --run=DIR [--temperature=T] [--top_k=K] [--top_p=P]\n"
    "      [--seed=S] [--length=N] [--threads=N] [--save=DIR] [PROMPT...]\n\n"
    "Without prompts, they are read from standard input, one a line. Each "
    "text\n"
    "begins with its prompt and ends with a newline; it is written line by\n"
    "line as it is made. --top_k=1 takes the likeliest each time.";
constexpr size_t kMostLineBytes = size_t{1} << 16;

struct Arguments {
  RunFlags run;
  std::string save;
  GenerationOptions options;
  int threads = HardwareThreads();
  std::vector<std::string> prompts;
};

absl::Status ParseArguments(int argc, char** argv, Arguments* arguments) {
  CommandLine line(kUsage);
  int length = 500;
  AddRunFlags(line, &arguments->run);
  AddSamplingFlags(line, &arguments->options.sampling);
  line.Number(
      "length", &length, 0, INT_MAX,
      "characters, words or pieces of words that are generated at most");
  line.Number("threads", &arguments->threads, 1, 1024,
              "changes no bit of a text; without it, one per core");
  line.Text("save", "DIR", &arguments->save,
            "writes the model to this folder first, as transformers reads a "
            "GPT-2");
  line.Positional(&arguments->prompts, "PROMPT");
  REGARD_RETURN_IF_ERROR(line.Parse(argc, argv));
  arguments->options.length = length;
  return absl::OkStatus();
}

// Writes text after text to standard output.
class Session {
 public:
  Session(const LanguageModel& model, Forward<float>& forward,
          const GenerationOptions& options)
      : model_(model),
        forward_(forward),
        options_(options),
        terminal_(isatty(STDOUT_FILENO) != 0) {}

  // `prompt` and its ids. False when a text cannot be written.
  bool Continue(const std::string& prompt, const std::vector<int32_t>& ids);

 private:
  // Flushes where a line ends.
  bool Write(absl::string_view text);

  const LanguageModel& model_;
  Forward<float>& forward_;
  const GenerationOptions options_;
  const bool terminal_;
  bool in_line_ = false;  // whether the text does not end with a newline
};

bool Session::Write(absl::string_view text) {
  if (text.empty()) return true;
  in_line_ = text.back() != '\n';
  std::string shown(text);
  if (terminal_) {  // which would obey control characters
    std::vector<std::string> lines = absl::StrSplit(text, '\n');
    for (std::string& line : lines) line = PrintableText(line);
    shown = absl::StrJoin(lines, "\n");
  }
  const bool written =
      std::fwrite(shown.data(), 1, shown.size(), stdout) == shown.size();
  return written && (in_line_ || std::fflush(stdout) == 0);
}

bool Session::Continue(const std::string& prompt,
                       const std::vector<int32_t>& ids) {
  in_line_ = true;  // which may stay empty
  bool written = Write(prompt);
  TextStream text(model_.vocabulary(), ids.back());
  Generate(model_, forward_, ids, options_, [&](int32_t id) {
    written = written && Write(text.Append(id));
    return written;
  });
  written = written && Write(text.Finish());
  if (in_line_) written = written && Write("\n");
  return written;
}

absl::Status ContinueInput(const LanguageModel& model, Session& session) {
  if (isatty(STDIN_FILENO) != 0) {
    std::fputs("one prompt a line; Ctrl-D ends\n", stderr);
  }
  LineReader reader(STDIN_FILENO, kMostLineBytes);
  std::string line;
  bool cut;
  bool written = true;
  for (int64_t number = 1; written && reader.Next(&line, &cut); ++number) {
    if (cut) {
      return absl::InvalidArgumentError(
          absl::StrCat("error: line ", number, " is longer than 64 KiB"));
    }
    const auto ids = model.vocabulary().EncodePrompt(line);
    if (!ids.ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat("error: line ", number, ", ", ids.status().message()));
    }
    written = session.Continue(line, *ids);
  }
  return reader.status("standard input");
}

absl::Status ContinueAll(const std::vector<std::string>& prompts,
                         const LanguageModel& model, Session& session) {
  std::vector<std::vector<int32_t>> ids;
  for (const std::string& prompt : prompts) {
    auto encoded = model.vocabulary().EncodePrompt(prompt);
    if (!encoded.ok()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "error: prompt ", ids.size() + 1, ", ", encoded.status().message()));
    }
    ids.push_back(*std::move(encoded));
  }
  bool written = true;
  for (size_t i = 0; written && i < prompts.size(); ++i) {
    written = session.Continue(prompts[i], ids[i]);
  }
  return absl::OkStatus();
}

absl::Status GenerateTexts(int argc, char** argv, const Plugins& plugins) {
  Arguments arguments;
  REGARD_RETURN_IF_ERROR(ParseArguments(argc, argv, &arguments));
  REGARD_ASSIGN_OR_RETURN(const Run run, OpenRun(arguments.run, plugins));
  const auto* const text_model = run.model<TextModel>();
  if (text_model == nullptr) {
    return absl::InvalidArgumentError(absl::StrCat(
        "error: ", run.path(), ": this run's model is no language model"));
  }
  const LanguageModel& model = text_model->language_model();
  if (!arguments.save.empty()) {
    REGARD_RETURN_IF_ERROR(WithErrorPrefix(
        WriteGpt2Folder(run.config().model().language_model(), model,
                        ResolveUserPath(arguments.save), SystemFiles())));
  }
  WorkerPool pool(arguments.threads);
  const InferenceThreads help(pool);
  Session session(model, run.forward(), arguments.options);
  return arguments.prompts.empty()
             ? ContinueInput(model, session)
             : ContinueAll(arguments.prompts, model, session);
}

}  // namespace

int GenerateMain(int argc, char** argv, const Plugins& plugins) {
  FlushDenormalsToZero();
  return ExitCode(GenerateTexts(argc, argv, plugins));
}

}  // namespace regard
