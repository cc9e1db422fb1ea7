#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "autodiff/worker_pool.h"
#include "data/parallel_corpus.h"
#include "data/text/prepared_text.h"
#include "data/text/vocabulary.h"
#include "experiments/report/progress.h"
#include "experiments/report/terminal_text.h"
#include "experiments/run.h"
#include "files/line_reader.h"
#include "files/number_text.h"
#include "files/printable_text.h"
#include "files/utf8.h"
#include "nn/forward.h"
#include "options/command_line.h"
#include "seq2seq/decoding/search.pb.h"
#include "seq2seq/encoder_decoder.h"
#include "seq2seq/output_head.h"
#include "seq2seq/seq2seq_validation.h"
#include "seq2seq/translator.h"
#include "seq2seq/typed_sentence.h"
#include "third_party/abseil_backport/status_macros.h"
#include "tools/programs.h"
#include "tools/search_flags.h"

namespace regard {

namespace {

constexpr char kUsage[] =
    "Translates sentences with the model of a run, or with an ensemble of\n"
    "runs that have equal vocabularies.\n\n"
    "  translate --run=DIR [--run=DIR]... [--beam=N] [--align] [SENTENCE...]\n"
    "  translate --run=DIR --score\n\n"
    "Without a SENTENCE, reads one sentence per line from standard input. If\n"
    "standard output is not a terminal, each line of it is one translation\n"
    "and nothing else, in the order of the sentences. With --n_best, a line\n"
    "is INDEX ||| TRANSLATION ||| SCORE: sentences are counted from 0, and\n"
    "the best translation comes first. With --score, reads lines of\n"
    "SOURCE<TAB>TARGET and prints the natural log-probability of each "
    "target.\n\n"
    "Examples:\n"
    "  translate --run=runs/pairs --beam=5 'they are watching .'\n"
    "  translate --run=runs/a --run=runs/b <sentences.txt";
// Maximum number of words of a sentence. Longer sentences are truncated, which
// bounds the time and memory for any input.
constexpr size_t kMaxWords = 500;
constexpr int kMaxLength = 100000;  // maximum of --max_length
// Maximum number of words and sentence ends that are translated together, if
// several sentences wait. Threads wait for each other only after such a batch.
constexpr size_t kMaxWaiting = 16384;

struct Arguments {
  std::vector<std::string> runs;
  std::string precision;
  bool align = false;
  bool score = false;
  bool replace_unknown = false;
  std::vector<std::string> sentences;
  int threads = HardwareThreads();
  SearchFlags flags;
};

absl::Status ParseArguments(int argc, char** argv, Arguments* arguments) {
  bool log_probabilities = false;
  CommandLine line(kUsage);
  line.Repeated("run", "DIR", &arguments->runs,
                "run folder; may be repeated to form an ensemble of runs "
                "(default: the latest run under runs/)");
  AddPrecisionFlag(line, &arguments->precision);
  AddSearchFlags(line, &arguments->flags);
  line.Field("coverage_penalty", &arguments->flags.search, 0, 10,
             "penalty for untranslated words; 0: off", kRunConfigDefault);
  line.Field("min_length", &arguments->flags.search, 0, 100000,
             "minimum number of tokens in a translation, without <eos>",
             kRunConfigDefault);
  line.Field("max_length", &arguments->flags.search, 1, kMaxLength,
             "maximum number of tokens in a translation, with <eos>",
             kRunConfigDefault);
  line.Switch("log_probabilities", &log_probabilities,
              "averages log-probabilities of an ensemble, not probabilities");
  line.Switch("align", &arguments->align,
              "draws what each word attends to; on standard error if standard "
              "output is not a terminal");
  line.Switch("score", &arguments->score,
              "scores given translations instead of translating");
  line.Switch("replace_unknown", &arguments->replace_unknown,
              "replaces <unk> by the unknown source word with the most "
              "attention");
  line.Number("threads", &arguments->threads, 1, 1024, kThreadsHelp,
              kThreadsDefault);
  line.Positional(&arguments->sentences, "SENTENCE");
  REGARD_RETURN_IF_ERROR(line.Parse(argc, argv));
  if (arguments->flags.search.has_max_length()) {
    arguments->flags.search.set_max_length_ratio(0);
  }
  if (log_probabilities) {
    arguments->flags.search.set_ensemble_mean(SearchConfig::LOG_PROBABILITIES);
  }
  return absl::OkStatus();
}

struct Member {
  const Translator& translator;
  Forward<float>& forward;
};

// Returns standard error as the output of the progress line. Draws a live line
// only if nothing except notes appears on the same terminal.
ProgressOutput ProgressOf(const Arguments& arguments) {
  ProgressOutput output = ProgressToStandardError();
  const bool quiet = arguments.sentences.empty() && !arguments.align &&
                     isatty(STDIN_FILENO) == 0 && isatty(STDOUT_FILENO) == 0;
  if (!quiet) output.width = [] { return 0; };
  return output;
}

// Writes translations to standard output, or the scores of pairs.
class Session {
 public:
  Session(std::vector<Member> members, const Arguments& arguments,
          const SearchConfig& search)
      : members_(std::move(members)),
        translator_(members_.front().translator),
        arguments_(arguments),
        search_(search),
        terminal_(isatty(STDOUT_FILENO) != 0),
        align_(
            (arguments.align || (terminal_ && !arguments.sentences.empty())) &&
            translator_.has_attention()),
        line_(ProgressOf(arguments)) {}

  // Adds a sentence, or scores a pair. The translation may be written by a
  // later call. Returns an error if the text is too long for the model.
  absl::Status Add(absl::string_view text, bool cut);
  // Writes the waiting translations. Returns false if they cannot be written.
  bool Flush();
  // Prints a note about the whole input.
  void Tell(const std::string& note) {
    line_.Message(absl::StrCat("note: ", note));
  }
  // Leaves the last state of the progress line on the screen. Prints notes
  // about sentences that were truncated or could not be read.
  void Finish();

 private:
  template <typename... Parts>
  void Note(const Parts&... parts) {
    line_.Message(absl::StrCat("note: sentence ", sentences_, parts...));
  }
  absl::Status Error(absl::string_view unit, absl::string_view problem) const {
    return absl::InvalidArgumentError(
        absl::StrCat("error: ", unit, " ", sentences_, ": ", problem));
  }
  absl::Status Score(absl::string_view text);
  void CheckMinLength(const std::vector<std::string>& words);
  void ShowProgress(bool last);
  std::vector<std::string> TargetTokens(const std::vector<std::string>& source,
                                        const Translation& translation) const;
  void Write(const std::vector<std::string>& source,
             const Translation& translation, int64_t index) const;
  void DrawAlignment(const std::vector<std::string>& source,
                     const Translation& translation) const;

  const std::vector<Member> members_;
  const Translator& translator_;
  const Arguments& arguments_;
  const SearchConfig& search_;
  const bool terminal_;
  const bool align_;
  std::vector<std::vector<std::string>> waiting_;
  size_t words_waiting_ = 0;  // includes ends of sentences
  int64_t sentences_ = 0;     // number of sentences so far
  int64_t answered_ = 0;      // number of sentences with output
  int64_t written_ = 0;       // number of translations
  int64_t at_limit_ = 0;      // number of translations truncated at the limit
  int64_t invalid_ = 0;       // number of sentences that are not UTF-8
  UnknownWordReporter unknown_{translator_.source_vocabulary()};
  LiveLine line_;
  const absl::Time start_ = absl::Now();
};

void Session::ShowProgress(bool last) {
  const absl::Time now = absl::Now();
  if (!line_.live() || answered_ == 0 || !(last || line_.IsDue(now))) return;
  const double rate =
      static_cast<double>(answered_) / absl::ToDoubleSeconds(now - start_);
  line_.Draw(absl::StrFormat("%d sentences  %.1f a second", answered_, rate),
             now);
}

void Session::Finish() {
  if (invalid_ > 0) {
    Tell(absl::StrCat(
        invalid_, invalid_ == 1 ? " line has" : " lines have",
        " bytes that are not UTF-8; each of these bytes is read as U+FFFD"));
  }
  ShowProgress(/*last=*/true);
  line_.Finish();
  if (at_limit_ == 0) return;
  const int64_t known = translator_.longest_target();
  line_.Message(absl::StrCat(
      "note: ", at_limit_, " of ", written_,
      " translations were cut at their maximum length; raise it with "
      "--max_length=N",
      known < kMaxLength
          ? absl::StrCat(", up to the ", known, " positions of the model")
          : ""));
}

// Prints a note if the translation of `words` cannot have min_length words.
void Session::CheckMinLength(const std::vector<std::string>& words) {
  if (search_.min_length() == 0 || words.empty()) return;
  for (const Member& member : members_) {
    const int64_t longest = member.translator.MaxOutputIds(words, search_);
    if (search_.min_length() < longest) continue;
    Note(": its translation has at most ", longest,
         " tokens, too few for min_length: ", search_.min_length(),
         " tokens and <eos>");
    return;
  }
}

// Scores a pair in a separate batch.
absl::Status Session::Score(absl::string_view text) {
  const std::vector<absl::string_view> sides = absl::StrSplit(text, '\t');
  if (sides.size() == 1 && IsBlankLine(text, /*text_version=*/1)) {
    std::puts("");  // a blank line has no pair
    ++answered_;
    return absl::OkStatus();
  }
  if (sides.size() != 2) {
    return Error("line",
                 sides.size() == 1
                     ? "must be SOURCE<TAB>TARGET, but has no tab"
                     : "must be SOURCE<TAB>TARGET, but has a second tab");
  }
  const std::vector<std::string> source = TokenizeSource(sides[0], translator_);
  const std::vector<std::string> target = TokenizeTarget(sides[1], translator_);
  for (const absl::Status& fits : {translator_.CheckSourceLength(source),
                                   translator_.CheckTargetLength(target)}) {
    if (!fits.ok()) return Error("line", fits.message());
  }
  ParallelCorpus pair;
  pair.Add(translator_.EncodeSource(source), translator_.EncodeTarget(target));
  // Adds 1, because encoded sides include <eos>.
  if (pair[0].source.size() < source.size() + 1 ||
      pair[0].target.size() < target.size() + 1) {
    const size_t limit = std::max(pair[0].source.size(), pair[0].target.size());
    return Error("line", absl::StrCat("a sentence may have at most ", limit,
                                      " tokens with <eos> (cut_tokens)"));
  }
  Forward<float>& forward = members_.front().forward;
  const EncoderDecoder<float>& model = translator_.model();
  forward.BeginStep();
  const Batch batch = MakeBatch(pair, {0}, forward.tape().arena());
  const TokenScoreSums scores = ScoreTokens(
      model.decoder->head(), forward, model.Run(forward, batch), batch.target);
  std::puts(NumberText(-scores.loss).c_str());
  ++answered_;
  ShowProgress(/*last=*/false);
  return absl::OkStatus();
}

absl::Status Session::Add(absl::string_view text, bool cut) {
  ++sentences_;
  if (FindInvalidUtf8(text).has_value()) ++invalid_;
  if (arguments_.score && cut) {
    return Error("line", absl::StrCat("must be at most ", kMaxInputLineBytes,
                                      " bytes long"));
  }
  if (arguments_.score) return Score(text);
  std::vector<std::string> words = TokenizeSource(text, translator_);
  // Words beyond cut_tokens of the run have no ids.
  const size_t all = words.size();
  const size_t read =
      std::min({all, translator_.EncodeSource(words).size(), kMaxWords});
  if (cut || read < all) {
    words.resize(read);
    Note(" is cut: only the first ", read, " of ", cut ? "more than " : "", all,
         " words are translated");
  }
  for (const Member& member : members_) {
    const absl::Status fits = member.translator.CheckSourceLength(words);
    if (!fits.ok()) return Error("sentence", fits.message());
  }
  for (const auto& note : unknown_.UnknownWordNotes(words)) Note(": ", note);
  CheckMinLength(words);
  const size_t size = words.size() + 1;
  if (words_waiting_ + size > kMaxWaiting) Flush();
  words_waiting_ += size;
  waiting_.push_back(std::move(words));
  return absl::OkStatus();
}

bool Session::Flush() {
  // Skips empty sentences, whose translations are empty.
  std::vector<std::vector<int32_t>> sources;
  for (const auto& words : waiting_) {
    if (!words.empty()) sources.push_back(translator_.EncodeSource(words));
  }
  std::vector<TranslationMember> members;
  for (const Member& member : members_) {
    members.push_back({&member.translator.model(), &member.forward,
                       member.translator.lengths()});
  }
  const std::vector<std::vector<Translation>> translations =
      TranslateIds(members, sources, search_,
                   /*want_weights=*/align_ || arguments_.replace_unknown);
  size_t next = 0;
  for (const auto& words : waiting_) {
    if (words.empty()) {
      Write(words, Translation(), answered_++);
      ++written_;
      continue;
    }
    for (const Translation& translation : translations[next++]) {
      Write(words, translation, answered_);
      ++written_;
      if (translation.at_limit) ++at_limit_;
    }
    ++answered_;
  }
  waiting_.clear();
  words_waiting_ = 0;
  ShowProgress(/*last=*/false);
  return std::fflush(stdout) == 0 && std::ferror(stdout) == 0;
}

// Returns the words of a translation. With --replace_unknown, replaces an
// unknown word by the source word with the largest weight. Only unknown source
// words are candidates, because the model would have translated a known word.
// Without a candidate, the word stays <unk>. Source: Luong et al., "Addressing
// the rare word problem in neural machine translation", 2015.
std::vector<std::string> Session::TargetTokens(
    const std::vector<std::string>& source,
    const Translation& translation) const {
  std::vector<std::string> words = translator_.Words(translation);
  if (!arguments_.replace_unknown || translation.weights.empty()) return words;
  const size_t columns = translation.weights.size() /
                         static_cast<size_t>(translation.num_choices());
  std::vector<size_t> unknown;
  // Ignores the weight of <eos>.
  for (size_t j = 0; j < std::min(columns, source.size()); ++j) {
    if (!translator_.source_vocabulary().HasTextToken(source[j])) {
      unknown.push_back(j);
    }
  }
  if (unknown.empty()) return words;
  for (size_t i = 0; i < words.size(); ++i) {
    if (translation.ids[i] != Vocabulary::kUnknown) continue;
    const auto weights =
        absl::MakeConstSpan(translation.weights).subspan(i * columns, columns);
    words[i] = source[*std::ranges::max_element(
        unknown, {}, [&](size_t j) { return weights[j]; })];
  }
  return words;
}

void Session::Write(const std::vector<std::string>& source,
                    const Translation& translation, int64_t index) const {
  std::string line = translator_.TargetText(TargetTokens(source, translation));
  if (terminal_) line = PrintableText(line);
  if (search_.n_best() > 1) {
    line = absl::StrCat(index, " ||| ", line, " ||| ",
                        NumberText(translation.score));
  }
  absl::StrAppend(&line, "\n");
  std::fwrite(line.data(), 1, line.size(), stdout);
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
  std::fputs(
      absl::StrCat("\n", AlignmentText(map, TerminalStyle()), "\n").c_str(),
      terminal_ ? stdout : stderr);
}

absl::Status TranslateInput(const Run& run, Session& session) {
  const auto add = [&](const InputLine& line) -> absl::StatusOr<bool> {
    REGARD_RETURN_IF_ERROR(session.Add(line.text, line.cut));
    return true;
  };
  return ReadInput(
      run, {.unit = "sentence",
            .takes_cut_lines = true,
            .add = add,
            .flush = [&] { return session.Flush(); },
            .tell = [&](const std::string& note) { session.Tell(note); }});
}

// Opens all runs and their models. The runs must have the same vocabularies.
absl::StatusOr<std::vector<Run>> OpenRuns(const Arguments& arguments,
                                          const Plugins& plugins,
                                          std::vector<Member>* members) {
  std::vector<std::string> runs = arguments.runs;
  if (arguments.score && (runs.size() > 1 || !arguments.sentences.empty())) {
    return absl::InvalidArgumentError(
        "error: --score requires exactly one --run and no SENTENCE; it reads "
        "pairs from standard input");
  }
  if (arguments.score &&
      (arguments.flags.any() || arguments.align || arguments.replace_unknown)) {
    return absl::InvalidArgumentError(
        "error: --score does not search; remove all flags but --run, "
        "--precision and --threads");
  }
  if (runs.empty()) runs.push_back(RunOrLatest(""));
  REGARD_ASSIGN_OR_RETURN(const std::optional<Precision> precision,
                          ReadPrecision(arguments.precision));
  std::vector<Run> trained;
  for (const std::string& run : runs) {
    REGARD_ASSIGN_OR_RETURN(Run opened,
                            OpenRun(run, plugins, {.precision = precision}));
    REGARD_ASSIGN_OR_RETURN(const Translator* translator, TranslatorOf(opened));
    members->push_back({*translator, opened.forward()});
    trained.push_back(std::move(opened));
    const Translator& first = members->front().translator;
    if (!(first.source_vocabulary() == translator->source_vocabulary()) ||
        !(first.target_vocabulary() == translator->target_vocabulary())) {
      return absl::InvalidArgumentError(absl::StrCat(
          "error: ", trained.back().path(),
          ": must have the same vocabularies as ", trained.front().path()));
    }
  }
  return trained;
}

absl::Status Translate(int argc, char** argv, const Plugins& plugins) {
  Arguments arguments;
  REGARD_RETURN_IF_ERROR(ParseArguments(argc, argv, &arguments));
  std::vector<Member> members;
  REGARD_ASSIGN_OR_RETURN(const std::vector<Run> trained,
                          OpenRuns(arguments, plugins, &members));
  if ((arguments.align || arguments.replace_unknown) &&
      !members.front().translator.has_attention()) {
    return absl::InvalidArgumentError(
        absl::StrCat("error: --align and --replace_unknown require attention: "
                     "the model of ",
                     trained.front().path(), " has none"));
  }
  if (arguments.replace_unknown &&
      std::ranges::all_of(members, [](const Member& member) {
        return member.translator.lengths().unknown == 0;
      })) {
    std::fprintf(stderr,
                 "note: --replace_unknown has no effect: the training targets "
                 "have no <unk>, so the model never writes it\n");
  }
  SearchConfig search = trained.front().config().search();
  REGARD_RETURN_IF_ERROR(ApplySearchFlags(arguments.flags, &search));
  WorkerPool pool(arguments.threads);
  const InferenceThreads help(pool);
  Session session(std::move(members), arguments, search);
  absl::Status status;
  if (arguments.sentences.empty()) {
    status = TranslateInput(trained.front(), session);
  } else {
    for (const std::string& sentence : arguments.sentences) {
      status.Update(session.Add(sentence, /*cut=*/false));
    }
    session.Flush();
  }
  session.Finish();
  return status;
}

}  // namespace

int TranslateMain(int argc, char** argv, const Plugins& plugins) {
  FlushDenormalsToZero();
  return ExitCode(Translate(argc, argv, plugins));
}

}  // namespace regard
