#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstdint>
#include <cstdio>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "autodiff/worker_pool.h"
#include "experiments/report/terminal_text.h"
#include "experiments/run.h"
#include "files/number_text.h"
#include "language/generator.h"
#include "language/language_model.h"
#include "language/text_model.h"
#include "language/text_vocabulary.h"
#include "nn/forward.h"
#include "options/command_line.h"
#include "seq2seq/decoding/search.h"
#include "seq2seq/decoding/search.pb.h"
#include "third_party/abseil_backport/status_macros.h"
#include "tools/programs.h"
#include "tools/search_flags.h"

namespace regard {

namespace {

constexpr char kUsage[] =
    "Continues texts with the language model of a run.\n\n"
    "  generate --run=DIR [--temperature=X] [--top_k=N] [--top_p=X]\n"
    "      [--seed=N] [--length=N] [--stop=STRING]... [PROMPT...]\n"
    "  generate --run=DIR --beam=N [--n_best=N] ... [PROMPT...]\n\n"
    "Without a PROMPT, reads one prompt per line from standard input. Each "
    "text\n"
    "begins with its prompt and ends with a newline. Texts are sampled by\n"
    "default. --top_k=1 always takes the likeliest token, and --beam searches\n"
    "for the likeliest text. With --n_best, a line is INDEX ||| TEXT |||\n"
    "SCORE: prompts are counted from 0, the best text comes first, and arrows\n"
    "replace newlines. Prompts that are waiting are continued together. The\n"
    "text of the first one is printed line by line while it is generated.\n\n"
    "Examples:\n"
    "  generate --run=runs/text --length=200 'the '\n"
    "  generate --run=runs/text --beam=5 --n_best=3 'the ' 'a '";
// Maximum number of waiting prompts that are continued together.
constexpr size_t kMostWaiting = 64;
// Maximum length of a text without --length.
constexpr int kLength = 500;

struct Arguments {
  RunFlags run;
  SearchFlags flags;
  GenerationOptions options;
  bool asked_length = false;  // whether --length was given
  int threads = HardwareThreads();
  std::vector<std::string> prompts;
};

absl::Status ParseArguments(int argc, char** argv, Arguments* arguments) {
  CommandLine line(kUsage);
  int length = -1;  // -1 if not given
  AddRunFlags(line, &arguments->run);
  AddGenerationFlags(line, &arguments->flags);
  line.Number("length", &length, 0, INT_MAX, kLengthHelp,
              absl::StrCat(kLength));
  line.Repeated("stop", "STRING", &arguments->options.stops,
                "ends a text before this string; may be repeated");
  line.Number("threads", &arguments->threads, 1, 1024, kThreadsHelp,
              kThreadsDefault);
  line.Positional(&arguments->prompts, "PROMPT");
  REGARD_RETURN_IF_ERROR(line.Parse(argc, argv));
  UseLatestRun(&arguments->run);
  arguments->asked_length = length >= 0;
  arguments->options.length = arguments->asked_length ? length : kLength;
  for (const std::string& stop : arguments->options.stops) {
    if (stop.empty()) {
      return absl::InvalidArgumentError(
          "error: --stop must not be empty: it would end every text at once");
    }
  }
  REGARD_ASSIGN_OR_RETURN(arguments->options.search,
                          GenerationSearch(arguments->flags));
  return absl::OkStatus();
}

absl::Status Located(const absl::Status& status, absl::string_view unit,
                     int64_t number) {
  if (status.ok()) return status;
  return absl::InvalidArgumentError(
      absl::StrCat("error: ", unit, " ", number, ", ", status.message()));
}

std::string OnOneLine(absl::string_view text) {
  return absl::StrReplaceAll(text, {{"\n", "\u21b5"}});
}

// Writes generated texts to standard output.
class Session {
 public:
  Session(const LanguageModel& model, Forward<float>& forward,
          const GenerationOptions& options)
      : model_(model),
        forward_(forward),
        options_(options),
        terminal_(isatty(STDOUT_FILENO) != 0) {}

  // Adds a prompt and its ids. A later call may generate the text. Returns
  // false if a text cannot be written.
  bool Add(const std::string& prompt, std::vector<int32_t> ids);
  // Generates the waiting texts. Returns false if a text cannot be written.
  bool Flush();
  // Prints to standard error which texts were cut. Does not report texts that
  // were cut by --length.
  void NoteCuts(bool asked_length) const;

 private:
  // Counts a text that was written.
  void Count(const Hypothesis& text) {
    ++written_;
    if (text.at_limit) ++at_limit_;
  }
  // Writes one text per prompt. The first text is written while it is
  // generated.
  bool Stream();
  // Writes the best texts of each prompt.
  bool WriteBest();
  TextStream TextAfter(size_t prompt) const {
    return TextStream(model_.vocabulary(), ids_[prompt].back(), options_.stops);
  }
  // Writes text, and flushes at the end of a line.
  bool Write(absl::string_view text);
  bool EndLine() { return !in_line_ || Write("\n"); }

  const LanguageModel& model_;
  Forward<float>& forward_;
  const GenerationOptions options_;
  const bool terminal_;
  bool in_line_ = false;              // whether the last line lacks its newline
  std::vector<std::string> prompts_;  // prompts that wait
  std::vector<std::vector<int32_t>> ids_;
  size_t answered_ = 0;       // prompts that were already continued
  int64_t long_prompts_ = 0;  // prompts that are longer than a block
  int64_t written_ = 0;       // number of texts
  int64_t at_limit_ = 0;      // number of texts that reached the limit
};

void Session::NoteCuts(bool asked_length) const {
  const auto note = [](const auto&... parts) {
    std::fprintf(stderr, "note: %s\n", absl::StrCat(parts...).c_str());
  };
  if (long_prompts_ > 0) {
    note(long_prompts_, " of ", answered_, " prompts are longer than the ",
         model_.block(), " ids that the model reads at once: only the last ",
         std::max<int64_t>(1, model_.block() / 2), " ids of each are read");
  }
  // A model without an end token always reaches the limit.
  if (!asked_length && at_limit_ > 0 &&
      model_.vocabulary().special_ids().end >= 0) {
    note(at_limit_, " of ", written_, " texts were cut at ", options_.length,
         " tokens (characters, words or subwords); raise the limit with "
         "--length=N");
  }
}

bool Session::Add(const std::string& prompt, std::vector<int32_t> ids) {
  const bool written = prompts_.size() < kMostWaiting || Flush();
  if (std::ssize(ids) > model_.block()) ++long_prompts_;
  prompts_.push_back(prompt);
  ids_.push_back(std::move(ids));
  return written;
}

bool Session::Write(absl::string_view text) {
  if (text.empty()) return true;
  in_line_ = text.back() != '\n';
  std::string shown(text);
  if (terminal_) {  // a terminal would interpret control characters
    std::vector<std::string> lines = absl::StrSplit(text, '\n');
    for (std::string& line : lines) line = PrintableText(line);
    shown = absl::StrJoin(lines, "\n");
  }
  const bool written =
      std::fwrite(shown.data(), 1, shown.size(), stdout) == shown.size();
  return written && (in_line_ || std::fflush(stdout) == 0);
}

bool Session::Stream() {
  std::vector<TextStream> streams;
  std::vector<std::string> texts = prompts_;
  for (size_t i = 0; i < prompts_.size(); ++i) streams.push_back(TextAfter(i));
  in_line_ = true;  // the text may stay empty
  bool written = Write(prompts_.front());
  const auto found = Generate(
      model_, forward_, ids_, options_, [&](size_t prompt, int32_t id) {
        const std::string text = streams[prompt].Append(id);
        if (prompt == 0) {
          written = written && Write(text);
        } else {
          texts[prompt] += text;
        }
        return written;
      });
  for (const auto& best : found) Count(best.front());
  written = written && Write(streams.front().Finish()) && EndLine();
  for (size_t i = 1; written && i < prompts_.size(); ++i) {
    in_line_ = true;
    written = Write(texts[i]) && Write(streams[i].Finish()) && EndLine();
  }
  return written;
}

bool Session::WriteBest() {
  const auto found = Generate(model_, forward_, ids_, options_);
  bool written = true;
  for (size_t i = 0; i < found.size(); ++i) {
    for (const Hypothesis& hypothesis : found[i]) {
      TextStream stream = TextAfter(i);
      std::string text = prompts_[i];
      for (const int32_t id : hypothesis.ids) text += stream.Append(id);
      text += stream.Finish();
      if (options_.search.n_best() > 1) {
        text = absl::StrCat(answered_ + i, " ||| ", OnOneLine(text), " ||| ",
                            NumberText(hypothesis.score));
      }
      in_line_ = true;
      written = written && Write(text) && EndLine();
      Count(hypothesis);
    }
  }
  return written;
}

bool Session::Flush() {
  if (prompts_.empty()) return true;
  const SearchConfig& search = options_.search;
  const bool streams = search.has_sampling() && search.n_best() == 1;
  const bool written = streams ? Stream() : WriteBest();
  answered_ += prompts_.size();
  prompts_.clear();
  ids_.clear();
  return written && std::fflush(stdout) == 0;
}

absl::Status ContinueInput(const Run& run, const LanguageModel& model,
                           Session& session) {
  const auto add = [&](const InputLine& line) -> absl::StatusOr<bool> {
    auto ids = model.vocabulary().EncodePrompt(line.text);
    REGARD_RETURN_IF_ERROR(Located(ids.status(), "line", line.number));
    return session.Add(line.text, *std::move(ids));
  };
  return ReadInput(run, {.unit = "prompt", .add = add, .flush = [&] {
                           return session.Flush();
                         }});
}

absl::Status ContinueAll(const std::vector<std::string>& prompts,
                         const LanguageModel& model, Session& session) {
  std::vector<std::vector<int32_t>> ids;
  for (const std::string& prompt : prompts) {
    auto encoded = model.vocabulary().EncodePrompt(prompt);
    REGARD_RETURN_IF_ERROR(
        Located(encoded.status(), "prompt", std::ssize(ids) + 1));
    ids.push_back(*std::move(encoded));
  }
  bool written = true;
  for (size_t i = 0; written && i < prompts.size(); ++i) {
    written = session.Add(prompts[i], std::move(ids[i]));
  }
  if (written) session.Flush();
  return absl::OkStatus();
}

absl::Status GenerateTexts(int argc, char** argv, const Plugins& plugins) {
  Arguments arguments;
  REGARD_RETURN_IF_ERROR(ParseArguments(argc, argv, &arguments));
  REGARD_ASSIGN_OR_RETURN(const Run run, OpenRun(arguments.run, plugins));
  const auto* const text_model = run.model<TextModel>();
  if (text_model == nullptr) {
    return absl::InvalidArgumentError(absl::StrCat(
        "error: ", run.path(),
        ": the model of this run is not a language model; generate "
        "requires one"));
  }
  const LanguageModel& model = text_model->language_model();
  WorkerPool pool(arguments.threads);
  const InferenceThreads help(pool);
  Session session(model, run.forward(), arguments.options);
  const absl::Status status =
      arguments.prompts.empty()
          ? ContinueInput(run, model, session)
          : ContinueAll(arguments.prompts, model, session);
  session.NoteCuts(arguments.asked_length);
  return status;
}

}  // namespace

int GenerateMain(int argc, char** argv, const Plugins& plugins) {
  FlushDenormalsToZero();
  return ExitCode(GenerateTexts(argc, argv, plugins));
}

}  // namespace regard
