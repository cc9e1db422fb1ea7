#include "tools/translate_program.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "autodiff/tape.h"
#include "experiments/config/command_line.h"
#include "experiments/report/alignment_text.h"
#include "experiments/report/printable_text.h"
#include "experiments/run/line_reader.h"
#include "experiments/tasks/translation/trained_translator.h"
#include "nn/config_problems.h"
#include "nn/forward.h"
#include "nn/worker_pool.h"
#include "seq2seq/search/search.pb.h"
#include "seq2seq/search/search_validation.h"
#include "seq2seq/translator.h"
#include "third_party/abseil_backport/status_macros.h"

namespace regard {

namespace {

constexpr char kUsage[] =
    "Translates sentences with the model of a run.\n\n"
    "  translate --run=DIR [--beam=K] [--align] [SENTENCE...]\n\n"
    "Without sentences, they are read from standard input, one a line. Where\n"
    "standard output is not a terminal it gets one translation a line, in the\n"
    "order of the sentences, and nothing else. With --n_best a line is\n"
    "INDEX ||| TRANSLATION ||| SCORE, sentences counted from 0, best first.\n"
    "What no flag sets is as in `search` of the run's config.";
// Bound time and memory whatever comes in: longer sentences are cut.
constexpr size_t kMostWords = 500;
constexpr size_t kMostLineBytes = size_t{1} << 16;
// Sentences that are answered together, where more than one is waiting.
constexpr size_t kMostWaiting = 512;
constexpr size_t kMostWaitingWords = 16384;
// Words that are named as unknown, each once.
constexpr size_t kMostUnknown = 20;

struct Arguments {
  std::string run;
  bool align = false;
  std::vector<std::string> sentences;
  // Of the search; below 0: not given.
  int beam = -1;
  int n_best = -1;
  int min_length = -1;
  int max_length = -1;
  double length_penalty = -1;
  double coverage_penalty = -1;
  bool sample = false;
  double temperature = -1;
  int top_k = -1;
  double top_p = -1;
  int seed = -1;
};

absl::Status ParseArguments(int argc, char** argv, Arguments* arguments) {
  CommandLine line(kUsage);
  line.Text("run", &arguments->run, "the run folder");
  line.Number("beam", &arguments->beam, 1, kMaxBeam,
              "hypotheses kept by the search; 1 is greedy");
  line.Number("n_best", &arguments->n_best, 1, kMaxBeam,
              "translations of each sentence");
  line.Real("length_penalty", &arguments->length_penalty, 0, 10,
            "greater values favour longer translations");
  line.Real("coverage_penalty", &arguments->coverage_penalty, 0, 10,
            "greater values penalise words left untranslated");
  line.Number("min_length", &arguments->min_length, 0, 100000,
              "words of a translation at least");
  line.Number("max_length", &arguments->max_length, 1, 100000,
              "ids of a translation at most, its end included");
  line.Switch("sample", &arguments->sample,
              "draws translations from the model's distribution");
  line.Real("temperature", &arguments->temperature, 0.01, 100,
            "of sampling; below 1 likely words become likelier");
  line.Number("top_k", &arguments->top_k, 0, 10000000,
              "samples from so many words only; 0: all");
  line.Real("top_p", &arguments->top_p, 1e-6, 1,
            "samples from the likeliest words of this probability only");
  line.Number("seed", &arguments->seed, 0, INT_MAX, "of sampling");
  line.Switch("align", &arguments->align,
              "draws what each word looked at; off a terminal on standard "
              "error");
  line.Positional(&arguments->sentences, "SENTENCE");
  return line.Parse(argc, argv);
}

// Replaces what the flags of a search say; the error is complete to print.
absl::Status ApplySearchFlags(const Arguments& arguments,
                              SearchConfig* search) {
  if (arguments.beam >= 0) search->set_beam(arguments.beam);
  if (arguments.n_best >= 0) search->set_n_best(arguments.n_best);
  if (arguments.min_length >= 0) search->set_min_length(arguments.min_length);
  if (arguments.max_length >= 0) {
    search->set_max_length(arguments.max_length);
    search->set_max_length_ratio(0);
  }
  if (arguments.length_penalty >= 0) {
    search->set_length_penalty(arguments.length_penalty);
  }
  if (arguments.coverage_penalty >= 0) {
    search->set_coverage_penalty(arguments.coverage_penalty);
  }
  if (arguments.sample) search->mutable_sampling();
  const bool of_sampling = arguments.temperature >= 0 || arguments.top_k >= 0 ||
                           arguments.top_p >= 0 || arguments.seed >= 0;
  if (of_sampling && !search->has_sampling()) {
    return absl::InvalidArgumentError(
        "error: --temperature, --top_k, --top_p and --seed need --sample");
  }
  if (search->has_sampling()) {
    SamplingConfig& sampling = *search->mutable_sampling();
    if (arguments.temperature >= 0) {
      sampling.set_temperature(arguments.temperature);
    }
    if (arguments.top_k >= 0) sampling.set_top_k(arguments.top_k);
    if (arguments.top_p >= 0) sampling.set_top_p(arguments.top_p);
    if (arguments.seed >= 0) {
      sampling.set_seed(static_cast<uint64_t>(arguments.seed));
    }
  }
  ConfigProblems problems;
  ValidateSearch(*search, problems);
  if (problems.ok()) return absl::OkStatus();
  const ConfigProblems::Problem& problem = problems.problems().front();
  return absl::InvalidArgumentError(
      absl::StrCat("error: --", problem.path, ": ", problem.message));
}

// Translates sentence after sentence to standard output.
class Session {
 public:
  Session(const TrainedTranslator& trained, const Arguments& arguments,
          const SearchConfig& search)
      : translator_(*trained.translator),
        search_(search),
        align_(arguments.align),
        terminal_(isatty(STDOUT_FILENO) != 0),
        forward_(tape_, std::as_const(translator_).parameters(), nullptr) {
    align_ |= terminal_ && !arguments.sentences.empty();
    align_ &= translator_.has_attention();
    style_.unicode = TerminalTakesUnicode();
    winsize window;
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &window) == 0 && window.ws_col > 0) {
      style_.width = window.ws_col;
    }
  }

  // Takes a sentence; it is answered now or by a later call. An error if it is
  // longer than what the model knows.
  absl::Status Add(absl::string_view text, bool cut);
  // Answers what is waiting. False when it cannot be written.
  bool Flush();

 private:
  void NameUnknown(const std::vector<std::string>& words);
  void Write(const std::vector<std::string>& source,
             const Translation& translation, int64_t index) const;
  void DrawAlignment(const std::vector<std::string>& source,
                     const Translation& translation) const;

  const Translator& translator_;
  const SearchConfig search_;
  bool align_;
  const bool terminal_;
  AlignmentTextStyle style_;
  Tape<float> tape_;
  Forward<float> forward_;
  std::vector<std::vector<std::string>> waiting_;
  size_t waiting_words_ = 0;
  int64_t sentences_ = 0;  // so far
  int64_t answered_ = 0;   // of these
  absl::flat_hash_set<std::string> unknown_;
};

void Session::NameUnknown(const std::vector<std::string>& words) {
  for (const std::string& word : words) {
    if (unknown_.size() > kMostUnknown ||
        translator_.source_vocabulary().Contains(word) ||
        !unknown_.insert(word).second) {
      continue;
    }
    if (unknown_.size() > kMostUnknown) {
      std::fprintf(stderr, "note: further unknown words are not named\n");
      return;
    }
    std::fprintf(stderr, "note: sentence %s: the model does not know '%s'\n",
                 absl::StrCat(sentences_).c_str(),
                 CutToWidth(word, /*width=*/60, "~").c_str());
  }
}

absl::Status Session::Add(absl::string_view text, bool cut) {
  ++sentences_;
  std::vector<std::string> words =
      TypedWords(text, translator_.source_vocabulary());
  if (cut || words.size() > kMostWords) {
    words.resize(std::min(words.size(), kMostWords));
    std::fprintf(stderr,
                 "note: sentence %s is cut: its first %s words are "
                 "translated\n",
                 absl::StrCat(sentences_).c_str(),
                 absl::StrCat(words.size()).c_str());
  }
  if (const absl::Status fits = translator_.CheckSource(words); !fits.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat("error: sentence ", sentences_, ": ", fits.message()));
  }
  NameUnknown(words);
  if (waiting_.size() == kMostWaiting ||
      waiting_words_ + words.size() > kMostWaitingWords) {
    Flush();
  }
  waiting_words_ += words.size();
  waiting_.push_back(std::move(words));
  return absl::OkStatus();
}

bool Session::Flush() {
  // An empty sentence has an empty translation.
  std::vector<std::vector<std::string>> sources;
  for (const auto& words : waiting_) {
    if (!words.empty()) sources.push_back(words);
  }
  const std::vector<std::vector<Translation>> translations =
      translator_.Translate(forward_, sources, search_,
                            /*want_weights=*/align_);
  size_t next = 0;
  for (const auto& words : waiting_) {
    if (words.empty()) {
      Write(words, Translation(), answered_++);
      continue;
    }
    for (const Translation& translation : translations[next++]) {
      Write(words, translation, answered_);
    }
    ++answered_;
  }
  waiting_.clear();
  waiting_words_ = 0;
  return std::fflush(stdout) == 0 && std::ferror(stdout) == 0;
}

void Session::Write(const std::vector<std::string>& source,
                    const Translation& translation, int64_t index) const {
  std::string line = absl::StrJoin(translator_.Words(translation), " ");
  if (search_.n_best() > 1) {
    line = absl::StrCat(index, " ||| ", line, " ||| ",
                        absl::StrFormat("%.4f", translation.score));
  }
  std::fputs(absl::StrCat(line, "\n").c_str(), stdout);
  if (align_) DrawAlignment(source, translation);
}

void Session::DrawAlignment(const std::vector<std::string>& source,
                            const Translation& translation) const {
  if (translation.weights.empty()) return;
  LabelledMatrix map;
  map.rows = translator_.Words(translation);
  if (translation.finished) map.rows.push_back("<eos>");
  map.columns = source;
  map.columns.push_back("<eos>");
  map.columns.resize(translation.weights.size() / map.rows.size());
  map.heads.push_back({translation.weights.begin(), translation.weights.end()});
  std::fputs(absl::StrCat("\n", AlignmentText(map, style_), "\n").c_str(),
             terminal_ ? stdout : stderr);
}

absl::Status TranslateInput(Session& session, bool* written) {
  if (isatty(STDIN_FILENO) != 0) {
    std::fputs("one sentence a line; Ctrl-D ends\n", stderr);
  }
  LineReader reader(STDIN_FILENO, kMostLineBytes);
  std::string line;
  bool cut;
  absl::Status added;
  while (*written && added.ok() && reader.Next(&line, &cut)) {
    added = session.Add(line, cut);
    // Whoever waits for an answer before the next sentence gets it.
    if (!reader.Ready()) *written = session.Flush();
  }
  *written = session.Flush() && *written;
  if (!added.ok()) return added;
  if (reader.error() == 0) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "error: cannot read standard input: ", std::strerror(reader.error())));
}

}  // namespace

int TranslateMain(int argc, char** argv, const Plugins& plugins) {
  FlushDenormalsToZero();
  Arguments arguments;
  if (const absl::Status status = ParseArguments(argc, argv, &arguments);
      !status.ok()) {
    return ExitCode(status);
  }
  const absl::StatusOr<TrainedTranslator> trained =
      LoadTranslator(arguments.run, plugins);
  if (!trained.ok()) return ExitCode(trained.status());
  for (const std::string& note : trained->notes) {
    std::fprintf(stderr, "%s\n", note.c_str());
  }
  SearchConfig search = trained->config.search();
  if (const absl::Status status = ApplySearchFlags(arguments, &search);
      !status.ok()) {
    return ExitCode(status);
  }
  Session session(*trained, arguments, search);
  bool written = true;
  absl::Status status;
  if (arguments.sentences.empty()) {
    status = TranslateInput(session, &written);
  } else {
    for (const std::string& sentence : arguments.sentences) {
      status.Update(session.Add(sentence, /*cut=*/false));
    }
    written = session.Flush();
  }
  if (!status.ok()) return ExitCode(status);
  if (written) return 0;
  std::fputs("error: cannot write the translations\n", stderr);
  return 1;
}

}  // namespace regard
