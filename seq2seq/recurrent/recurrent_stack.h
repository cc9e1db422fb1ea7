// The recurrent layers of an encoder or decoder config.
#ifndef SEQ2SEQ_RECURRENT_RECURRENT_STACK_H_
#define SEQ2SEQ_RECURRENT_RECURRENT_STACK_H_

#include "nn/recurrent.pb.h"

namespace regard {

// The fields that RecurrentEncoderConfig and RecurrentDecoderConfig share.
template <typename Config>
RecurrentConfig RecurrentStack(const Config& config) {
  RecurrentConfig stack;
  stack.set_cell(config.cell());
  stack.set_reset_gate(config.reset_gate());
  stack.set_width(config.hidden());
  stack.set_layers(config.layers());
  stack.set_dropout(config.dropout());
  stack.set_initialization(config.initialization());
  return stack;
}

}  // namespace regard

#endif  // SEQ2SEQ_RECURRENT_RECURRENT_STACK_H_
