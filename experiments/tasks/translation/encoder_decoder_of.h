// The model of sentence pairs that a config describes.
#ifndef EXPERIMENTS_TASKS_TRANSLATION_ENCODER_DECODER_OF_H_
#define EXPERIMENTS_TASKS_TRANSLATION_ENCODER_DECODER_OF_H_

#include "experiments/experiment.pb.h"
#include "seq2seq/seq2seq.pb.h"

namespace regard {

// The part of a config that describes a model of sentence pairs.
EncoderDecoderConfig EncoderDecoderOf(const ModelConfig& model);

}  // namespace regard

#endif  // EXPERIMENTS_TASKS_TRANSLATION_ENCODER_DECODER_OF_H_
