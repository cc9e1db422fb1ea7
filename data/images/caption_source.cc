#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "data/data_source.h"
#include "data/images/canvases.h"
#include "data/images/caption_set.h"
#include "data/images/captions.pb.h"
#include "data/images/image_set.h"
#include "data/images/image_source.h"
#include "files/utf8.h"
#include "nn/config_problems.h"
#include "third_party/abseil_backport/status_macros.h"

namespace regard {

namespace {

// Pixels of all canvases.
constexpr int64_t kMostPixels = int64_t{1} << 30;

class CaptionsSource
    : public WithOptions<DataSource<CaptionData>, CaptionsConfig> {
 public:
  using WithOptions::WithOptions;
  static DataPath Path(const Options& options) {
    return options.things() == Options::SHAPES ? DataPath::kNone
                                               : DataPath::kOptional;
  }

  static void Validate(const Options& options, ConfigProblems& problems) {
    problems.CheckRanges(options);
    if (options.things() != Options::SHAPES) return;
    const std::string problem = TooMany(options, options.side());
    if (!problem.empty()) problems.Add("train", problem);
  }

  absl::StatusOr<CaptionData> Load(const DataRequest& request) const override {
    CaptionData data;
    if (options_.things() == Options::SHAPES) {
      const Things things = ShapeThings(options_.side(), request.seed);
      MakeSplits(things, things, request.seed, &data.splits);
      return data;
    }
    FashionMnistConfig all;
    all.set_dev(0);
    REGARD_ASSIGN_OR_RETURN(ImageData images,
                            ReadFashionMnist(request.path, all));
    const ImageShape& shape = images.splits.train.shape;
    if (shape.height != shape.width) {
      return absl::InvalidArgumentError(
          absl::StrCat("error: data.path: images of ", shape.height, " x ",
                       shape.width, " pixels; a quadrant is a square"));
    }
    const std::string problem = TooMany(options_, shape.height);
    if (!problem.empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat("error: data.captions.train: ", problem));
    }
    const std::vector<std::string> kinds = {"t-shirt", "trousers", "dress",
                                            "coat",    "sandal",   "sneaker",
                                            "bag",     "boot"};
    const ImageSplits& splits = images.splits;
    REGARD_ASSIGN_OR_RETURN(
        const Things train,
        ImageThings(splits.train, splits.classes, kinds, request.seed,
                    "error: data.path: the training images"));
    REGARD_ASSIGN_OR_RETURN(
        const Things test,
        ImageThings(splits.test, splits.classes, kinds, request.seed,
                    "error: data.path: the test images"));
    MakeSplits(train, test, request.seed, &data.splits);
    data.digests = std::move(images.digests);
    return data;
  }

 private:
  // What is wrong with so many canvases of quadrants of side x side pixels;
  // empty if nothing is.
  static std::string TooMany(const Options& options, int64_t side) {
    const int64_t canvases =
        int64_t{options.train()} + options.dev() + options.test();
    if (canvases <= kMostPixels / (4 * side * side)) return "";
    return absl::StrCat("makes ", canvases, " canvases of more than ",
                        kMostPixels, " pixels");
  }

  void MakeSplits(const Things& train, const Things& test, uint64_t seed,
                  CaptionSplits* splits) const {
    const TripleSplits triples =
        SplitTriples(static_cast<int32_t>(train.names.size()), seed);
    const std::vector<absl::string_view> words =
        SplitOnWhitespace(options_.prompt());
    const std::vector<std::string> prompt(words.begin(), words.end());
    splits->train = MakeCanvases(options_.train(), train, triples.train, prompt,
                                 seed, "train");
    splits->dev =
        MakeCanvases(options_.dev(), train, triples.dev, prompt, seed, "dev");
    splits->test =
        MakeCanvases(options_.test(), test, triples.test, prompt, seed, "test");
  }
};

}  // namespace

REGARD_DATA_SOURCES(CaptionSource) {
  sources.Add<CaptionsSource>("generated canvases and their sentences");
}

}  // namespace regard
