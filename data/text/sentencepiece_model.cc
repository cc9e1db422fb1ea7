#include "data/text/sentencepiece_model.h"

#include <algorithm>
#include <cmath>
#include <queue>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "data/text/subwords.pb.h"
#include "data/text/unigram_lattice.h"
#include "files/utf8.h"
#include "third_party/abseil_backport/check.h"

namespace regard {

namespace {

using sentencepiece::ModelProto;
using sentencepiece::TrainerSpec;
using PieceProto = sentencepiece::ModelProto::SentencePiece;

// The maximum size of a piece. At each byte of a text, segmentation hashes all
// prefixes up to the length of the longest piece. Pieces from sentencepiece's
// own trainer have at most 16 characters by default.
constexpr size_t kMaxPieceBytes = 512;

// The difference between the lowest score of a piece and the score of an
// unknown character, which is lower.
constexpr float kUnknownPenalty = 10;

// Counts the bytes that begin a character.
size_t CharactersOf(absl::string_view text) {
  return std::count_if(text.begin(), text.end(),
                       [](char byte) { return (byte & 0xC0) != 0x80; });
}

}  // namespace

absl::StatusOr<SentencepieceModel> SentencepieceModel::Parse(
    absl::string_view bytes, absl::string_view path) {
  const auto error = [&](absl::string_view problem) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": error: ", problem));
  };
  ModelProto proto;
  if (!proto.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())) ||
      proto.pieces_size() == 0) {
    return error(
        "must be a SentencePiece model, such as the .model file of spm_train");
  }
  const TrainerSpec& trainer = proto.trainer_spec();
  if (trainer.model_type() == TrainerSpec::WORD) {
    return error(
        "models of type WORD are not supported; use BPE, UNIGRAM or CHAR");
  }
  if (trainer.byte_fallback() || trainer.treat_whitespace_as_suffix()) {
    return error(
        "models with byte_fallback or treat_whitespace_as_suffix are not "
        "supported; train the model without these options");
  }
  absl::StatusOr<TextNormalizer> normalizer =
      TextNormalizer::Create(proto.normalizer_spec());
  if (!normalizer.ok()) return error(normalizer.status().message());
  SentencepieceModel model(*std::move(normalizer), trainer.model_type());
  bool any = false;
  for (const PieceProto& piece : proto.pieces()) {
    const bool user = piece.type() == PieceProto::USER_DEFINED;
    // Unigram models ignore unused pieces.
    const bool unused =
        piece.type() == PieceProto::UNUSED && !model.is_unigram();
    if (piece.type() != PieceProto::NORMAL && !user && !unused) continue;
    const std::string& text = piece.piece();
    // An unused piece need not be valid text. An invalid piece occurs in no
    // text and in no vocabulary.
    if (!unused &&
        (text.empty() || text.find_first_of({"\n\0", 2}) != std::string::npos ||
         FindInvalidUtf8(text).has_value())) {
      return error(
          "each piece must be valid UTF-8, must not be empty, and must not "
          "contain a line feed or a NUL byte");
    }
    if (text.size() > kMaxPieceBytes) {
      return error(absl::StrCat("a piece has ", text.size(), " bytes; at most ",
                                kMaxPieceBytes, " are allowed"));
    }
    if (!std::isfinite(piece.score())) {
      return error(absl::StrCat("the score of piece '", text,
                                "' must be a finite number"));
    }
    if (!model.pieces_.try_emplace(text, Piece{piece.score(), user, unused})
             .second) {
      return error(absl::StrCat(
          "piece '", text, "' occurs twice; each piece must occur only once"));
    }
    if (unused) continue;
    model.order_.push_back(text);
    model.longest_ = std::max(model.longest_, text.size());
    if (user) model.longest_user_ = std::max(model.longest_user_, text.size());
    if (user) continue;
    model.lowest_score_ =
        any ? std::min(model.lowest_score_, piece.score()) : piece.score();
    model.highest_score_ = std::max(model.highest_score_, piece.score());
    any = true;
  }
  if (!any)
    return error(
        "the model must have at least one piece of type NORMAL, but has none");
  return model;
}

Vocabulary SentencepieceModel::MakeVocabulary() const {
  TokenCounts counts;
  counts.Add(order_);
  return Vocabulary(counts);
}

const SentencepieceModel::Piece* SentencepieceModel::Find(
    absl::string_view piece) const {
  const auto found = pieces_.find(piece);
  return found == pieces_.end() ? nullptr : &found->second;
}

size_t SentencepieceModel::UserDefinedPrefix(absl::string_view text) const {
  for (size_t bytes = std::min(longest_user_, text.size()); bytes > 0;
       --bytes) {
    const Piece* piece = Find(text.substr(0, bytes));
    if (piece != nullptr && piece->user_defined) return bytes;
  }
  return 0;
}

std::string SentencepieceModel::Normalize(absl::string_view text) const {
  return normalizer_.Normalize(
      text, [this](absl::string_view rest) { return UserDefinedPrefix(rest); });
}

std::vector<absl::string_view> SentencepieceModel::SplitIntoCharacters(
    absl::string_view text) const {
  std::vector<absl::string_view> symbols;
  while (!text.empty()) {
    size_t length = UserDefinedPrefix(text);
    if (length == 0) length = FirstCharacter(text).bytes.size();
    symbols.push_back(text.substr(0, length));
    text.remove_prefix(length);
  }
  return symbols;
}

// Merges the two neighbours whose piece has the highest score, until no two
// neighbours form a piece. If scores are equal, merges the leftmost neighbours.
// In the end, splits unused pieces again.
std::vector<absl::string_view> SentencepieceModel::SegmentByMerges(
    absl::string_view text, absl::FunctionRef<bool()> drop) const {
  struct Symbol {
    // Empty after the symbol is merged into the symbol before it.
    absl::string_view text;
    int before;
    int after;  // -1: none
    bool fixed;
  };
  struct Merge {
    float score;
    int left;
    int right;
    size_t bytes;  // bytes of both symbols when the merge was found
    bool operator<(const Merge& other) const {
      return score < other.score || (score == other.score && left > other.left);
    }
  };
  std::vector<Symbol> symbols;
  for (const absl::string_view symbol : SplitIntoCharacters(text)) {
    const auto i = static_cast<int>(symbols.size());
    const Piece* piece = longest_user_ == 0 ? nullptr : Find(symbol);
    symbols.push_back(
        {symbol, i - 1, i + 1, piece != nullptr && piece->user_defined});
  }
  if (symbols.empty()) return {};
  symbols.back().after = -1;
  std::priority_queue<Merge> merges;
  // Maps each unused piece to the number of bytes that its left part had when
  // the piece was last considered.
  absl::flat_hash_map<absl::string_view, size_t> unused_parts;
  const auto consider = [&](int left, int right) {
    if (left < 0 || right < 0) return;
    const Symbol& a = symbols[left];
    const Symbol& b = symbols[right];
    if (a.fixed || b.fixed) return;
    const absl::string_view joined(a.text.data(),
                                   a.text.size() + b.text.size());
    if (const Piece* piece = Find(joined); piece != nullptr) {
      merges.push({piece->score, left, right, joined.size()});
      if (piece->unused) unused_parts[joined] = a.text.size();
    }
  };
  for (int i = 1; i < static_cast<int>(symbols.size()); ++i) {
    consider(i - 1, i);
  }
  while (!merges.empty()) {
    const Merge merge = merges.top();
    merges.pop();
    Symbol& left = symbols[merge.left];
    Symbol& right = symbols[merge.right];
    if (left.text.empty() || right.text.empty() ||
        left.text.size() + right.text.size() != merge.bytes) {
      continue;
    }
    if (drop()) continue;
    left.text = {left.text.data(), merge.bytes};
    right.text = {};
    left.after = right.after;
    if (right.after >= 0) symbols[right.after].before = merge.left;
    consider(left.before, merge.left);
    consider(merge.left, left.after);
  }
  std::vector<absl::string_view> pieces;
  std::vector<absl::string_view> rest;  // parts of a symbol, the leftmost last
  for (int i = 0; i >= 0; i = symbols[i].after) {
    rest.push_back(symbols[i].text);
    while (!rest.empty()) {
      const absl::string_view part = rest.back();
      rest.pop_back();
      const auto unused = unused_parts.find(part);
      if (unused == unused_parts.end()) {
        pieces.push_back(part);
      } else {
        rest.push_back(part.substr(unused->second));
        rest.push_back(part.substr(0, unused->second));
      }
    }
  }
  return pieces;
}

template <typename Visit>
void SentencepieceModel::ForEachPieceOccurrence(absl::string_view text,
                                                Visit visit) const {
  for (size_t begin = 0; begin < text.size();) {
    const size_t character = FirstCharacter(text.substr(begin)).bytes.size();
    bool single = false;
    const size_t most = std::min(longest_, text.size() - begin);
    for (size_t bytes = character; bytes <= most; ++bytes) {
      const Piece* piece = Find(text.substr(begin, bytes));
      if (piece == nullptr) continue;
      visit(begin, bytes, piece);
      single |= bytes == character;
    }
    if (!single) visit(begin, character, nullptr);
    begin += character;
  }
}

double SentencepieceModel::Score(const Piece* piece, size_t length) const {
  if (piece == nullptr) return lowest_score_ - kUnknownPenalty;
  if (!piece->user_defined) return piece->score;
  return static_cast<float>(length) * highest_score_ - 0.1;
}

// Returns the pieces with the greatest sum of scores, which are
// log-probabilities (Viterbi).
std::vector<absl::string_view> SentencepieceModel::SegmentByScores(
    absl::string_view text) const {
  struct Best {
    float score = 0;
    int64_t begin = -1;  // beginning of the last piece of the best path
  };
  std::vector<Best> best(text.size() + 1);
  ForEachPieceOccurrence(
      text, [&](size_t begin, size_t bytes, const Piece* piece) {
        Best& end = best[begin + bytes];
        const double candidate = Score(piece, bytes) + best[begin].score;
        if (end.begin < 0 || candidate > end.score) {
          end = {static_cast<float>(candidate), static_cast<int64_t>(begin)};
        }
      });
  std::vector<absl::string_view> pieces;
  for (auto end = static_cast<int64_t>(text.size()); end > 0;) {
    const int64_t begin = best[end].begin;
    pieces.push_back(text.substr(begin, end - begin));
    end = begin;
  }
  std::reverse(pieces.begin(), pieces.end());
  return pieces;
}

std::vector<absl::string_view> SentencepieceModel::SampleByScores(
    absl::string_view text, const SubwordSamplingConfig& sampling,
    const RandomStream& random) const {
  UnigramLattice lattice(static_cast<int64_t>(text.size()));
  ForEachPieceOccurrence(
      text, [&](size_t begin, size_t bytes, const Piece* piece) {
        lattice.Add(static_cast<int64_t>(begin),
                    static_cast<int64_t>(begin + bytes),
                    static_cast<float>(
                        Score(piece, CharactersOf(text.substr(begin, bytes)))));
      });
  const PieceEnds ends = sampling.nbest_size() < 0
                             ? lattice.Sample(sampling.alpha(), random)
                             : lattice.SampleNBest(sampling.nbest_size(),
                                                   sampling.alpha(), random);
  std::vector<absl::string_view> pieces;
  int64_t begin = 0;
  for (const int64_t end : ends) {
    pieces.push_back(text.substr(begin, end - begin));
    begin = end;
  }
  return pieces;
}

std::vector<std::string> SentencepieceModel::MergeUnknownPieces(
    absl::Span<const absl::string_view> pieces) const {
  std::vector<std::string> tokens;
  bool after_unknown = false;
  for (const absl::string_view piece : pieces) {
    const bool unknown = Find(piece) == nullptr;
    if (unknown && after_unknown) {
      absl::StrAppend(&tokens.back(), piece);
    } else {
      tokens.emplace_back(piece);
    }
    after_unknown = unknown;
  }
  return tokens;
}

std::vector<std::string> SentencepieceModel::Tokenize(
    absl::string_view text) const {
  const std::string normal = Normalize(text);
  switch (type_) {
    case TrainerSpec::BPE:
      return MergeUnknownPieces(SegmentByMerges(normal, [] { return false; }));
    case TrainerSpec::UNIGRAM:
      return MergeUnknownPieces(SegmentByScores(normal));
    default:
      return MergeUnknownPieces(SplitIntoCharacters(normal));
  }
}

std::vector<std::string> SentencepieceModel::Sample(
    absl::string_view text, const SubwordSamplingConfig& sampling,
    const RandomStream& random) const {
  REGARD_CHECK(is_bpe() || is_unigram()) << "a model of type " << type_;
  REGARD_CHECK(0 <= sampling.alpha() && sampling.alpha() <= 1)
      << "alpha " << sampling.alpha();
  const std::string normal = Normalize(text);
  if (normal.empty()) return {};
  if (is_unigram()) {
    return MergeUnknownPieces(SampleByScores(normal, sampling, random));
  }
  uint64_t merges = 0;
  return MergeUnknownPieces(SegmentByMerges(
      normal, [&] { return random.UniformAt(merges++) < sampling.alpha(); }));
}

int64_t SentencepieceModel::MaxTokens(absl::string_view text) const {
  return static_cast<int64_t>(CharactersOf(Normalize(text)));
}

std::string SentencepieceModel::Detokenize(
    absl::Span<const std::string> tokens) const {
  std::string text;
  for (const std::string& token : tokens) absl::StrAppend(&text, token);
  text = absl::StrReplaceAll(text, {{kSpaceSymbol, " "}});
  return std::string(absl::StripPrefix(text, " "));
}

}  // namespace regard
