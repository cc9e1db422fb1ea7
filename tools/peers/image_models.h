// The Vision Transformer of a work.
#ifndef TOOLS_PEERS_IMAGE_MODELS_H_
#define TOOLS_PEERS_IMAGE_MODELS_H_

#include <memory>

#include "nn/model.h"
#include "tools/peers/work_options.h"

namespace regard {

// Its training examples are the `batch` images of ImageData().
std::unique_ptr<Model<float>> MakeImageModel(const WorkOptions& options);

}  // namespace regard

#endif  // TOOLS_PEERS_IMAGE_MODELS_H_
