#include "tools/peers/transformer_options.h"

namespace regard {

TransformerConfig TransformerOf(const WorkOptions& options) {
  TransformerConfig transformer;
  transformer.set_width(static_cast<int>(options.hidden));
  transformer.set_layers(static_cast<int>(options.layers));
  transformer.mutable_attention()->set_heads(static_cast<int>(options.heads));
  transformer.mutable_attention()->set_bias(false);
  transformer.mutable_feed_forward()->set_hidden(
      static_cast<int>(options.feed_forward));
  return transformer;
}

}  // namespace regard
