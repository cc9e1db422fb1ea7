// The model of sentence pairs that a config describes.
#ifndef EXPERIMENTS_TASKS_TRANSLATION_ENCODER_DECODER_OF_H_
#define EXPERIMENTS_TASKS_TRANSLATION_ENCODER_DECODER_OF_H_

#include "experiments/experiment.pb.h"
#include "seq2seq/seq2seq.pb.h"

namespace regard {

// The fields of an EncoderDecoderConfig have the same names in a ModelConfig.
inline EncoderDecoderConfig EncoderDecoderOf(const ModelConfig& model) {
  EncoderDecoderConfig config;
  const auto& from = *model.GetDescriptor();
  const auto& to = *config.GetDescriptor();
  for (int i = 0; i < to.field_count(); ++i) {
    const auto* const field = from.FindFieldByName(to.field(i)->name());
    if (!model.GetReflection()->HasField(model, field)) continue;
    config.GetReflection()
        ->MutableMessage(&config, to.field(i))
        ->CopyFrom(model.GetReflection()->GetMessage(model, field));
  }
  return config;
}

}  // namespace regard

#endif  // EXPERIMENTS_TASKS_TRANSLATION_ENCODER_DECODER_OF_H_
