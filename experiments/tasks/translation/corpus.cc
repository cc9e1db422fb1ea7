#include "experiments/tasks/translation/corpus.h"

#include <utf8proc.h>

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "experiments/run/file.h"
#include "experiments/run/line_reader.h"
#include "experiments/run/sha256.h"
#include "seq2seq/utf8.h"
#include "third_party/abseil_backport/check.h"
#include "third_party/abseil_backport/status_macros.h"

namespace regard {
namespace {

constexpr int64_t kMaxLineBytes = int64_t{64} << 10;
// Of pairs that are kept in memory.
constexpr int64_t kMaxTextBytes = int64_t{256} << 20;
constexpr absl::string_view kByteOrderMark = "\xef\xbb\xbf";

bool IsDetachedMark(char32_t c) {
  return c == U',' || c == U'.' || c == U'!' || c == U'?';
}

void AppendUtf8(char32_t code_point, std::string& text) {
  utf8proc_uint8_t bytes[4];
  const utf8proc_ssize_t length =
      utf8proc_encode_char(static_cast<utf8proc_int32_t>(code_point), bytes);
  text.append(reinterpret_cast<const char*>(bytes), length);
}

std::string Composed(const std::string& text) {
  // Most text is ASCII, and composed already.
  const bool is_ascii = std::all_of(text.begin(), text.end(),
                                    [](char c) { return (c & 0x80) == 0; });
  if (is_ascii) return text;
  utf8proc_uint8_t* composed = nullptr;
  const utf8proc_ssize_t length = utf8proc_map(
      reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
      static_cast<utf8proc_ssize_t>(text.size()), &composed,
      static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE));
  REGARD_CHECK_GE(length, 0) << utf8proc_errmsg(length);
  std::string result(reinterpret_cast<const char*>(composed), length);
  std::free(composed);
  return result;
}

absl::Status CannotOpen(const std::string& path, const absl::Status& why) {
  if (absl::IsInvalidArgument(why) && !path.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("error: corpus ", why.message()));
  }
  const std::string what = path.empty()
                               ? "error: no corpus file is named"
                               : absl::StrCat("error: corpus ", why.message());
  return absl::Status(
      why.code(),
      absl::StrCat(
          what,
          "\n  A corpus is a text file of sentence pairs, one pair a line, the "
          "two sentences\n  separated by a tab. The English-French pairs "
          "`fra-eng` of Tatoeba are at\n  www.manythings.org/anki "
          "(fra-eng.zip; unpack fra.txt).\n  Name the file in the config, "
          "`data { path: \"fra.txt\" }`, or with\n  --set "
          "data.path=fra.txt"));
}

// One line of a corpus and where it stands.
class Line {
 public:
  Line(absl::string_view text, absl::string_view path, int64_t number,
       int64_t first_column)
      : text_(text),
        path_(path),
        number_(number),
        first_column_(first_column) {}

  absl::Status Error(size_t offset, absl::string_view problem) const {
    return absl::InvalidArgumentError(absl::StrCat(
        path_, ":", number_, ":", first_column_ + static_cast<int64_t>(offset),
        ": error: ", problem));
  }

  absl::Status CheckBytes() const {
    if (const size_t nul = text_.find('\0'); nul != absl::string_view::npos) {
      return Error(nul, "NUL byte: is this a text file?");
    }
    if (const std::optional<int64_t> bad = FindInvalidUtf8(text_)) {
      return Error(*bad, "bytes that are not UTF-8");
    }
    return absl::OkStatus();
  }

  // The pair's sentences as tokens.
  absl::StatusOr<SentencePair> Parse(const CorpusOptions& options) const {
    const std::vector<absl::string_view> columns = absl::StrSplit(text_, '\t');
    SentencePair pair;
    REGARD_ASSIGN_OR_RETURN(pair.source,
                            Tokens(columns, options.source_column, "source"));
    REGARD_ASSIGN_OR_RETURN(pair.target,
                            Tokens(columns, options.target_column, "target"));
    return pair;
  }

 private:
  absl::StatusOr<std::vector<std::string>> Tokens(
      const std::vector<absl::string_view>& columns, int column,
      absl::string_view side) const {
    if (column >= static_cast<int>(columns.size())) {
      return Error(
          text_.size(),
          absl::StrCat("want a tab and the ", side, " sentence in column ",
                       column + 1, ", got ", columns.size(), " column",
                       columns.size() == 1 ? "" : "s"));
    }
    std::vector<std::string> tokens = SplitTokens(PrepareText(columns[column]));
    if (tokens.empty()) {
      return Error(columns[column].data() - text_.data(),
                   absl::StrCat("the ", side, " sentence is empty"));
    }
    return tokens;
  }

  absl::string_view text_;
  absl::string_view path_;
  int64_t number_;
  int64_t first_column_;
};

int64_t LongerSide(const SentencePair& pair) {
  return static_cast<int64_t>(std::max(pair.source.size(), pair.target.size()));
}

}  // namespace

std::string PrepareText(absl::string_view text) {
  std::string prepared;
  prepared.reserve(text.size() + 8);
  bool after_space = true;  // a mark that starts the text gets no space
  for (const Character& character : Characters(text)) {
    char32_t c = character.code_point;
    if (c == U'\u00A0' || c == U'\u202F') c = U' ';
    if (IsDetachedMark(c) && !after_space) prepared.push_back(' ');
    AppendUtf8(static_cast<char32_t>(
                   utf8proc_tolower(static_cast<utf8proc_int32_t>(c))),
               prepared);
    after_space = c == U' ';
  }
  return Composed(prepared);
}

std::vector<std::string> SplitTokens(absl::string_view text) {
  return absl::StrSplit(text, ' ', absl::SkipEmpty());
}

absl::StatusOr<Corpus> ReadCorpus(const std::string& path,
                                  const CorpusOptions& options) {
  REGARD_CHECK_GE(options.source_column, 0);
  REGARD_CHECK_GE(options.target_column, 0);
  if (path.empty()) return CannotOpen(path, absl::InvalidArgumentError(""));
  const absl::StatusOr<FileReader> file = FileReader::Open(path);
  if (!file.ok()) return CannotOpen(path, file.status());
  Corpus corpus;
  Sha256 sha256;
  LineReader lines(file->descriptor(), kMaxLineBytes + 2,
                   [&](absl::string_view bytes) { sha256.Update(bytes); });
  const auto enough = [&] {
    return options.max_pairs > 0 &&
           static_cast<int64_t>(corpus.pairs.size()) >= options.max_pairs;
  };
  std::string read;
  bool cut = false;
  int64_t bytes = 0;
  for (int64_t number = 1; !enough() && lines.Next(&read, &cut); ++number) {
    absl::string_view text = read;
    int64_t first_column = 1;
    if (number == 1 && absl::ConsumePrefix(&text, kByteOrderMark)) {
      first_column += static_cast<int64_t>(kByteOrderMark.size());
    }
    absl::ConsumeSuffix(&text, "\r");
    const Line line(text, path, number, first_column);
    if (cut || static_cast<int64_t>(text.size()) > kMaxLineBytes) {
      return line.Error(kMaxLineBytes, "line of more than 64 KiB");
    }
    bytes += static_cast<int64_t>(read.size()) + 1;
    if (bytes > kMaxTextBytes) {
      return line.Error(0, "more than 256 MiB of pairs: set max_pairs");
    }
    if (text.empty()) continue;
    REGARD_RETURN_IF_ERROR(line.CheckBytes());
    REGARD_ASSIGN_OR_RETURN(SentencePair pair, line.Parse(options));
    if (options.max_tokens > 0 && LongerSide(pair) > options.max_tokens) {
      continue;
    }
    corpus.pairs.push_back(std::move(pair));
  }
  lines.SkipRest();
  if (lines.error() != 0) return FileError(path, "read", lines.error());
  if (corpus.pairs.empty()) {
    const Line first("", path, 1, 1);
    return first.Error(0, bytes == 0 ? "the file is empty"
                                     : "the file has no sentence pair that "
                                       "is short enough");
  }
  corpus.sha256 = sha256.HexDigest();
  return corpus;
}

}  // namespace regard
