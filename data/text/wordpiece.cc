#include "data/text/wordpiece.h"

#include <utf8proc.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "data/text/code_points.h"
#include "files/utf8.h"
#include "third_party/abseil_backport/check.h"

namespace regard {

namespace {

constexpr absl::string_view kContinuation = "##";
constexpr size_t kMaxProblems = 20;

// Ranges that contain the format characters, nonspacing marks and punctuation
// that Unicode added after version 8, up to version 17. The `tokenizers`
// library uses the categories of Unicode 8, so it treats these characters as
// letters. The ranges contain no other characters of these categories.
constexpr CodePointRange kAfterUnicode8[] = {
    {0x061D, 0x061D},   {0x07FD, 0x07FD},   {0x0890, 0x08E2},
    {0x09FD, 0x09FE},   {0x0A76, 0x0A76},   {0x0AFA, 0x0AFF},
    {0x0B55, 0x0B55},   {0x0C04, 0x0C3C},   {0x0C77, 0x0C77},
    {0x0C84, 0x0C84},   {0x0D00, 0x0D00},   {0x0D3B, 0x0D3C},
    {0x0D81, 0x0D81},   {0x0EBA, 0x0EBA},   {0x0ECE, 0x0ECE},
    {0x180F, 0x1886},   {0x1ABF, 0x1AEB},   {0x1B4E, 0x1B4F},
    {0x1B7D, 0x1B7F},   {0x1DF6, 0x1DFB},   {0x2E43, 0x2E5D},
    {0xA82C, 0xA82C},   {0xA8C5, 0xA8C5},   {0xA8FF, 0xA8FF},
    {0xA9BD, 0xA9BD},   {0x10D24, 0x10F89}, {0x11070, 0x11074},
    {0x110C2, 0x110CD}, {0x111CF, 0x111CF}, {0x1123E, 0x11241},
    {0x1133B, 0x1133B}, {0x113BB, 0x1145E}, {0x11660, 0x1166C},
    {0x116B9, 0x116B9}, {0x1182F, 0x11FFF}, {0x12FF1, 0x1612F},
    {0x16D6D, 0x16F4F}, {0x16FE2, 0x16FE4}, {0x1CF00, 0x1CF46},
    {0x1E000, 0x1E6F5}, {0x1E944, 0x1E95F},
};

// The ranges of Chinese characters in the `tokenizers` library. BERT's own
// program has 0x2B820 instead of 0x2B920.
constexpr CodePointRange kChinese[] = {
    {0x3400, 0x4DBF},   {0x4E00, 0x9FFF},   {0xF900, 0xFAFF},
    {0x20000, 0x2A6DF}, {0x2A700, 0x2B81F}, {0x2B920, 0x2CEAF},
    {0x2F800, 0x2FA1F},
};

utf8proc_category_t CategoryOf(char32_t c) {
  // The categories of these three characters have changed since Unicode 8.
  if (c == 0x1734) return UTF8PROC_CATEGORY_MN;
  if (c == 0x166D || c == 0x111C9) return UTF8PROC_CATEGORY_PO;
  if (InRanges(kAfterUnicode8, c)) return UTF8PROC_CATEGORY_LO;
  return utf8proc_category(static_cast<utf8proc_int32_t>(c));
}

bool IsRemovedByCleaning(char32_t c) {
  if (c == '\t' || c == '\n' || c == '\r') return false;
  if (c < 0x80) return c < 0x20 || c == 0x7F;
  if (c == 0xFFFD) return true;
  const utf8proc_category_t category = CategoryOf(c);
  return category == UTF8PROC_CATEGORY_CC || category == UTF8PROC_CATEGORY_CF ||
         category == UTF8PROC_CATEGORY_CO;
}

bool IsPunctuation(char32_t c) {
  if (c < 0x80) return absl::ascii_ispunct(static_cast<unsigned char>(c));
  const utf8proc_category_t category = CategoryOf(c);
  return category >= UTF8PROC_CATEGORY_PC && category <= UTF8PROC_CATEGORY_PO;
}

bool IsAscii(absl::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) {
    return static_cast<unsigned char>(c) < 0x80;
  });
}

// Returns the canonical decomposition without nonspacing marks.
std::u32string StripAccents(const std::u32string& text) {
  std::string bytes;
  for (const char32_t c : text) AppendUtf8(c, &bytes);
  std::vector<utf8proc_int32_t> decomposed;
  const auto decompose = [&] {
    return utf8proc_decompose(
        reinterpret_cast<const utf8proc_uint8_t*>(bytes.data()),
        static_cast<utf8proc_ssize_t>(bytes.size()), decomposed.data(),
        static_cast<utf8proc_ssize_t>(decomposed.size()), UTF8PROC_DECOMPOSE);
  };
  const utf8proc_ssize_t count = decompose();
  REGARD_CHECK(count >= 0) << utf8proc_errmsg(count);
  decomposed.resize(static_cast<size_t>(count));
  decompose();
  std::u32string stripped;
  for (const utf8proc_int32_t c : decomposed) {
    const auto code_point = static_cast<char32_t>(c);
    if (CategoryOf(code_point) == UTF8PROC_CATEGORY_MN) continue;
    stripped.push_back(code_point);
  }
  return stripped;
}

// Collects characters into words.
class Words {
 public:
  // `sink` receives each word and its number of characters.
  Words(const WordPieceOptions& options,
        absl::FunctionRef<void(absl::string_view, int64_t)> sink)
      : options_(options), sink_(sink) {}

  // Adds the characters of `text` after cleaning, and ends the last word.
  void AddText(absl::string_view text);

 private:
  void Add(char32_t c) {
    if (IsUnicodeSpace(c)) return End();
    const bool alone = options_.split_punctuation && IsPunctuation(c);
    if (alone) End();
    if (c < 0x80) {
      word_.push_back(static_cast<char>(c));
    } else {
      AppendUtf8(c, &word_);
    }
    ++characters_;
    if (alone) End();
  }

  void End() {
    if (word_.empty()) return;
    sink_(word_, characters_);
    word_.clear();
    characters_ = 0;
  }

  const WordPieceOptions& options_;
  const absl::FunctionRef<void(absl::string_view, int64_t)> sink_;
  std::string word_;
  int64_t characters_ = 0;
};

void Words::AddText(absl::string_view text) {
  const bool strip_accents =
      options_.strip_accents.value_or(options_.lower_case);
  if (IsAscii(text)) {
    for (const char c : text) {
      const auto code_point = static_cast<unsigned char>(c);
      if (options_.clean_text && IsRemovedByCleaning(code_point)) continue;
      Add(options_.lower_case ? absl::ascii_tolower(code_point) : code_point);
    }
    return End();
  }
  std::u32string clean;
  for (const Character& character : Characters(text)) {
    const char32_t c = character.code_point;
    if (options_.clean_text && IsRemovedByCleaning(c)) continue;
    if (options_.clean_text && IsUnicodeSpace(c)) {
      clean.push_back(' ');
    } else if (options_.split_chinese && InRanges(kChinese, c)) {
      clean.append({' ', c, ' '});
    } else {
      clean.push_back(c);
    }
  }
  if (strip_accents) clean = StripAccents(clean);
  for (const char32_t c : clean) {
    if (!options_.lower_case) {
      Add(c);
    } else if (c == 0x130) {  // the lower case has two characters
      Add('i');
      Add(0x307);
    } else {
      Add(static_cast<char32_t>(
          utf8proc_tolower(static_cast<utf8proc_int32_t>(c))));
    }
  }
  End();
}

}  // namespace

absl::StatusOr<WordPiece> WordPiece::Create(std::vector<std::string> tokens,
                                            absl::string_view path,
                                            const WordPieceOptions& options) {
  WordPiece pieces(options);
  std::vector<std::string> problems;
  const auto complain = [&](size_t line, absl::string_view problem) {
    problems.push_back(absl::StrCat(path, ":", line, ": error: ", problem));
  };
  for (size_t i = 0; i < tokens.size(); ++i) {
    const std::string& token = tokens[i];
    std::string problem;
    if (token.empty()) {
      problem = "the line is empty; expected a token";
    } else if (FindInvalidUtf8(token).has_value()) {
      problem = "the token must be valid UTF-8";
    } else if (token.size() > kMaxTokenBytes &&
               std::ssize(Characters(token)) <= options.longest_word) {
      problem = absl::StrCat("the token has ", token.size(), " bytes; at most ",
                             kMaxTokenBytes, " are allowed");
    } else if (!pieces.Append(token)) {
      problem = absl::StrCat("token '", absl::Utf8SafeCEscape(token),
                             "' must occur only once, but is already on line ",
                             pieces.Find(token) + 1);
    }
    if (!problem.empty()) {
      complain(i + 1, problem);
      // Reserves the id of the line with a token that differs from all other
      // tokens.
      pieces.Append(absl::StrCat("\xff", i));
      continue;
    }
    absl::string_view rest = token;
    if (options.continuations && absl::ConsumePrefix(&rest, kContinuation)) {
      pieces.continuations_.emplace(rest, static_cast<int32_t>(i));
    }
    // A longer token cannot occur, because it is longer than any word.
    if (token.size() > kMaxTokenBytes) continue;
    pieces.longest_piece_ = std::max(pieces.longest_piece_, token.size());
  }
  std::vector<AddedToken> special;
  const auto find_special = [&](const std::string& token, bool required) {
    const int32_t id = pieces.Find(token);
    if (id >= 0) {
      special.push_back({.text = token, .id = id});
    } else if (required) {
      complain(tokens.size(),
               absl::StrCat("the file must contain the token ", token));
    }
    return id;
  };
  pieces.unknown_ = find_special(options.unknown, true);
  pieces.classifier_ = find_special(options.classifier, true);
  pieces.separator_ = find_special(options.separator, true);
  find_special(options.padding, false);
  pieces.mask_ = find_special(options.mask, false);
  if (problems.empty()) {
    pieces.special_ = AddedTokens(std::move(special));
    return pieces;
  }
  if (problems.size() > kMaxProblems) {
    const size_t more = problems.size() - kMaxProblems;
    problems.resize(kMaxProblems);
    problems.push_back(absl::StrCat(path, ": ", more, " more errors"));
  }
  return absl::InvalidArgumentError(absl::StrJoin(problems, "\n"));
}

absl::StatusOr<WordPiece> WordPiece::Parse(absl::string_view text,
                                           absl::string_view path,
                                           const WordPieceOptions& options) {
  absl::ConsumeSuffix(&text, "\n");
  std::vector<std::string> tokens;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    absl::ConsumeSuffix(&line, "\r");
    tokens.emplace_back(line);
  }
  return Create(std::move(tokens), path, options);
}

bool WordPiece::ContinuesWord(int32_t id) const {
  const absl::string_view token = Token(id);
  return options_.continuations && token.size() > kContinuation.size() &&
         token.substr(0, kContinuation.size()) == kContinuation;
}

bool WordPiece::IsSpecial(int32_t id) const {
  return std::ranges::any_of(special_.tokens(), [&](const AddedToken& special) {
    return special.id == id;
  });
}

std::vector<int32_t> WordPiece::Tokenize(absl::string_view text) const {
  std::vector<int32_t> ids;
  Split(
      text,
      [&](absl::string_view word, int64_t characters) {
        AppendWord(word, characters, &ids);
      },
      [&](int32_t id) { ids.push_back(id); });
  return ids;
}

std::vector<std::string> WordPiece::SplitWords(absl::string_view text) const {
  std::vector<std::string> split;
  Split(
      text, [&](absl::string_view word, int64_t) { split.emplace_back(word); },
      [](int32_t) {});
  return split;
}

void WordPiece::Split(
    absl::string_view text,
    absl::FunctionRef<void(absl::string_view, int64_t)> on_word,
    absl::FunctionRef<void(int32_t)> on_special) const {
  Words words(options_, on_word);
  special_.Split(
      text, [&](absl::string_view rest) { words.AddText(rest); },
      [&](const AddedToken& token, absl::string_view) {
        on_special(token.id);
      });
}

std::vector<int32_t> WordPiece::Encode(absl::string_view text,
                                       int64_t longest) const {
  REGARD_CHECK(longest >= 2) << "at most " << longest << " ids";
  std::vector<int32_t> ids = Tokenize(text);
  if (static_cast<int64_t>(ids.size()) > longest - 2) {
    ids.resize(static_cast<size_t>(longest - 2));
  }
  ids.insert(ids.begin(), classifier_);
  ids.push_back(separator_);
  return ids;
}

EncodedPair WordPiece::EncodePair(absl::string_view first,
                                  absl::string_view second,
                                  int64_t longest) const {
  REGARD_CHECK(longest >= 3) << "at most " << longest << " ids";
  std::vector<int32_t> a = Tokenize(first);
  std::vector<int32_t> b = Tokenize(second);
  const auto room = static_cast<size_t>(longest - 3);
  if (a.size() + b.size() > room) {
    std::vector<int32_t>& shorter = a.size() <= b.size() ? a : b;
    std::vector<int32_t>& longer = a.size() <= b.size() ? b : a;
    shorter.resize(std::min(shorter.size(), room / 2));
    longer.resize(room - shorter.size());
  }
  EncodedPair pair = {.ids = {classifier_}};
  pair.ids.insert(pair.ids.end(), a.begin(), a.end());
  pair.ids.push_back(separator_);
  pair.second = static_cast<int64_t>(pair.ids.size());
  pair.ids.insert(pair.ids.end(), b.begin(), b.end());
  pair.ids.push_back(separator_);
  return pair;
}

std::string WordPiece::Decode(absl::Span<const int32_t> ids) const {
  std::vector<std::string> words;
  for (const int32_t id : ids) {
    if (id < 0 || id >= size() || IsSpecial(id)) continue;
    if (ContinuesWord(id) && !words.empty()) {
      absl::StrAppend(&words.back(),
                      absl::StripPrefix(Token(id), kContinuation));
    } else {
      words.push_back(Token(id));
    }
  }
  return JoinWords(words);
}

std::string WordPiece::FillIn(absl::string_view text,
                              absl::Span<const int32_t> ids) const {
  std::string filled;
  special_.Split(
      text, [&](absl::string_view rest) { absl::StrAppend(&filled, rest); },
      [&](const AddedToken& token, absl::string_view written) {
        if (token.id != mask_ || ids.empty()) {
          absl::StrAppend(&filled, written);
          return;
        }
        absl::string_view word = Token(ids[0]);
        if (ContinuesWord(ids[0])) {
          absl::StripTrailingAsciiWhitespace(&filled);
          word.remove_prefix(kContinuation.size());
        }
        absl::StrAppend(&filled, word);
        ids.remove_prefix(1);
      });
  return filled;
}

std::string WordPiece::JoinWords(absl::Span<const std::string> words) {
  return absl::StrReplaceAll(
      absl::StrJoin(words, " "),
      {{" .", "."}, {" ?", "?"}, {" !", "!"}, {" ,", ","}});
}

void WordPiece::AppendWord(absl::string_view word, int64_t characters,
                           std::vector<int32_t>* ids) const {
  if (characters > options_.longest_word) return ids->push_back(unknown_);
  const size_t before = ids->size();
  while (!word.empty()) {
    const bool begins = ids->size() == before;
    const auto find = [&](size_t length) {
      const absl::string_view piece = word.substr(0, length);
      if (begins) return Find(piece);
      const auto found = continuations_.find(piece);
      return found == continuations_.end() ? -1 : found->second;
    };
    size_t length = std::min(word.size(), longest_piece_);
    int32_t id = find(length);
    while (id < 0 && length > 1) id = find(--length);
    if (id < 0) {
      ids->resize(before);
      return ids->push_back(unknown_);
    }
    ids->push_back(id);
    word.remove_prefix(length);
  }
}

}  // namespace regard
