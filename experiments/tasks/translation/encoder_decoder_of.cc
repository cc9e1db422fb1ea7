#include "experiments/tasks/translation/encoder_decoder_of.h"

namespace regard {

EncoderDecoderConfig EncoderDecoderOf(const ModelConfig& model) {
  EncoderDecoderConfig config;
  if (model.has_encoder()) *config.mutable_encoder() = model.encoder();
  if (model.has_decoder()) *config.mutable_decoder() = model.decoder();
  if (model.has_attention()) *config.mutable_attention() = model.attention();
  if (model.has_transformer()) {
    *config.mutable_transformer() = model.transformer();
  }
  if (model.has_transformer_encoder()) {
    *config.mutable_transformer_encoder() = model.transformer_encoder();
  }
  if (model.has_transformer_decoder()) {
    *config.mutable_transformer_decoder() = model.transformer_decoder();
  }
  if (model.has_alignment()) *config.mutable_alignment() = model.alignment();
  return config;
}

}  // namespace regard
