// Sentencepiece models for tests, made piece by piece.
#ifndef DATA_TEXT_TESTING_HANDMADE_SENTENCEPIECE_H_
#define DATA_TEXT_TESTING_HANDMADE_SENTENCEPIECE_H_

#include <string>

#include "absl/status/statusor.h"
#include "data/text/sentencepiece.pb.h"
#include "data/text/sentencepiece_model.h"

namespace regard::testing {

// A model without a character map.
class HandmadeSentencepiece {
 public:
  explicit HandmadeSentencepiece(sentencepiece::TrainerSpec::ModelType type) {
    proto_.mutable_trainer_spec()->set_model_type(type);
  }

  HandmadeSentencepiece& Add(
      const std::string& piece, float score,
      sentencepiece::ModelProto::SentencePiece::Type type =
          sentencepiece::ModelProto::SentencePiece::NORMAL) {
    auto* added = proto_.add_pieces();
    added->set_piece(piece);
    added->set_score(score);
    added->set_type(type);
    return *this;
  }

  sentencepiece::ModelProto& proto() { return proto_; }
  absl::StatusOr<SentencepieceModel> Parse() const {
    return SentencepieceModel::Parse(proto_.SerializeAsString(), "m.model");
  }

 private:
  sentencepiece::ModelProto proto_;
};

}  // namespace regard::testing

#endif  // DATA_TEXT_TESTING_HANDMADE_SENTENCEPIECE_H_
