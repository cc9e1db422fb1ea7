// Tests the limits of the time and memory that an untrusted sentencepiece model
// takes for a line of a corpus.
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "data/text/sentencepiece.pb.h"
#include "data/text/sentencepiece_model.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "third_party/abseil_backport/status_matchers.h"

namespace regard {
namespace {

using ::regard::testing::IsOk;
using ::regard::testing::StatusIs;
using sentencepiece::ModelProto;
using sentencepiece::TrainerSpec;
using ::testing::SizeIs;

absl::StatusOr<SentencepieceModel> Parse(const ModelProto& model) {
  return SentencepieceModel::Parse(model.SerializeAsString(), "m.model");
}

// Without the limit, segmenting a line with a piece of half its length would
// take hours.
TEST(SentencepieceCapsTest, APieceIsCapped) {
  using Piece = ModelProto::SentencePiece;
  for (const auto& [type, of_piece] :
       {std::pair(TrainerSpec::BPE, Piece::USER_DEFINED),
        std::pair(TrainerSpec::UNIGRAM, Piece::NORMAL)}) {
    ModelProto proto;
    proto.mutable_trainer_spec()->set_model_type(type);
    proto.mutable_normalizer_spec()->set_add_dummy_prefix(false);
    proto.add_pieces()->set_piece("a");
    Piece& piece = *proto.add_pieces();
    piece.set_type(of_piece);
    piece.set_piece(std::string(511, 'a') + "b");
    const auto model = Parse(proto);
    ASSERT_THAT(model, IsOk());
    constexpr int kLine = 1 << 16;  // bytes of the longest line of a corpus
    EXPECT_THAT(model->Tokenize(std::string(kLine, 'a')), SizeIs(kLine));
    piece.set_piece(std::string(512, 'a') + "b");
    EXPECT_THAT(
        Parse(proto),
        StatusIs(
            absl::StatusCode::kInvalidArgument,
            "m.model: error: a piece has 513 bytes; at most 512 are allowed"));
  }
}

// Returns a map that replaces "a" with `replacement`, with a trie in the layout
// of Darts-clone. The offset of a unit leads to the next unit. The last byte of
// a unit is its label.
std::string MapOfA(const std::string& replacement) {
  std::vector<uint32_t> trie('a' + 1);
  trie['a'] = 'a' | (1 << 8) | (1 << 10);  // has a leaf at 'a' ^ 1
  const auto bytes = static_cast<uint32_t>(trie.size() * sizeof(trie[0]));
  std::string map(sizeof(bytes) + bytes, '\0');
  std::memcpy(map.data(), &bytes, sizeof(bytes));
  std::memcpy(map.data() + sizeof(bytes), trie.data(), bytes);
  return absl::StrCat(map, replacement, std::string(1, '\0'));
}

TEST(SentencepieceCapsTest, AReplacementIsCapped) {
  ModelProto proto;
  proto.mutable_trainer_spec()->set_model_type(TrainerSpec::CHAR);
  proto.add_pieces()->set_piece("x");
  std::string& map =
      *proto.mutable_normalizer_spec()->mutable_precompiled_charsmap();
  proto.mutable_normalizer_spec()->set_add_dummy_prefix(false);
  map = MapOfA(std::string(128, 'x'));
  const auto model = Parse(proto);
  ASSERT_THAT(model, IsOk());
  EXPECT_THAT(model->Tokenize("aa"), SizeIs(256));
  map = MapOfA(std::string(129, 'x'));
  EXPECT_THAT(Parse(proto),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "m.model: error: the character map has a replacement of "
                       "129 bytes; at most 128 are allowed"));
}

}  // namespace
}  // namespace regard
