// Makes configs that choose a plug-in by the type of its options.
#ifndef ATTENTION_CHECKS_CONFIG_CHOICE_H_
#define ATTENTION_CHECKS_CONFIG_CHOICE_H_

#include "google/protobuf/message.h"

namespace regard {

// Copies `options` to the member of a oneof of `config` that has the type of
// `options`. If there is none, copies `options` to an extension of the member
// `outside`. No-op if there is no such extension.
void SetChoice(const google::protobuf::Message& options,
               google::protobuf::Message* config);

template <typename Config>
Config ConfigWithChoice(const google::protobuf::Message& options) {
  Config config;
  SetChoice(options, &config);
  return config;
}

}  // namespace regard

#endif  // ATTENTION_CHECKS_CONFIG_CHOICE_H_
