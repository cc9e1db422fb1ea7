#include "data/images/image_source.h"

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "data/images/image_set.h"
#include "data/images/images.pb.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace regard {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string Header(const std::vector<int>& extents) {
  std::string bytes = {0, 0, 8, static_cast<char>(extents.size())};
  for (const int extent : extents) {
    bytes += std::string("\0\0\0", 3) + static_cast<char>(extent);
  }
  return bytes;
}

// A folder with six training images and two test images of 2 x 3 pixels.
class FashionMnistTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = absl::StrCat(
        testing::TempDir(), "/fashion_",
        testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
    std::string pixels;
    for (char i = 0; i < 36; ++i) pixels.push_back(i);
    Write("train-images-idx3-ubyte", Header({6, 2, 3}) + pixels);
    Write("train-labels-idx1-ubyte",
          Header({6}) + std::string("\0\1\2\3\4\5", 6));
    Write("t10k-images-idx3-ubyte", Header({2, 2, 3}) + pixels.substr(0, 12));
    Write("t10k-labels-idx1-ubyte", Header({2}) + std::string("\7\1", 2));
  }

  std::string Path(const std::string& name) const {
    return absl::StrCat(folder_, "/", name);
  }
  void Write(const std::string& name, const std::string& bytes) const {
    std::ofstream(Path(name), std::ios::binary) << bytes;
  }
  std::string Read(const std::string& name) const {
    std::ostringstream bytes;
    bytes << std::ifstream(Path(name), std::ios::binary).rdbuf();
    return bytes.str();
  }

  static absl::StatusOr<ImageData> Load(const std::string& path, int dev = 2,
                                        int train = 0) {
    FashionMnistConfig config;
    config.set_dev(dev);
    config.set_train(train);
    return ReadFashionMnist(path, config);
  }
  std::string Error(int dev = 2, int train = 0) const {
    return std::string(Load(folder_, dev, train).status().message());
  }

  std::string folder_;
};

TEST_F(FashionMnistTest, AFolderHasFourFiles) {
  const auto data = Load(folder_);
  ASSERT_TRUE(data.ok()) << data.status();
  const ImageSplits& splits = data->splits;
  EXPECT_EQ(splits.train.shape, (ImageShape{1, 2, 3}));
  EXPECT_THAT(splits.train.labels, ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(splits.dev.labels, ElementsAre(4, 5));
  EXPECT_EQ(splits.dev.image(1)[5], 35);
  EXPECT_THAT(splits.test.labels, ElementsAre(7, 1));
  EXPECT_EQ(splits.classes.size(), 10);
  EXPECT_EQ(splits.classes[8], "bag");
  EXPECT_EQ(data->digests.size(), 4);
  EXPECT_TRUE(data->digests.count("data.path/t10k-labels-idx1-ubyte"));
}

TEST_F(FashionMnistTest, AFilePathNamesTheTrainingImages) {
  std::filesystem::rename(Path("train-images-idx3-ubyte"), Path("mine"));
  const auto data = Load(Path("mine"), /*dev=*/0, /*train=*/3);
  ASSERT_TRUE(data.ok()) << data.status();
  EXPECT_THAT(data->splits.train.labels, ElementsAre(0, 1, 2));
  EXPECT_EQ(data->splits.dev.size(), 0);
}

TEST_F(FashionMnistTest, AMissingFileSaysHowToInstallIt) {
  std::filesystem::remove(Path("t10k-images-idx3-ubyte"));
  EXPECT_THAT(Error(),
              AllOf(HasSubstr(Path("t10k-images-idx3-ubyte.gz")),
                    HasSubstr("tools/bazel run //configs:fashion_mnist_setup"),
                    HasSubstr("apt-get install -y dataset-fashion-mnist")));
  EXPECT_THAT(std::string(Load("/no/such/folder").status().message()),
              HasSubstr("/no/such/folder/train-images-idx3-ubyte.gz"));
}

TEST_F(FashionMnistTest, EveryTruncationIsAnError) {
  for (const char* name :
       {"train-images-idx3-ubyte", "train-labels-idx1-ubyte",
        "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"}) {
    const std::string whole = Read(name);
    for (size_t size = 0; size < whole.size(); ++size) {
      Write(name, whole.substr(0, size));
      EXPECT_THAT(Error(),
                  HasSubstr(absl::StrCat(Path(name), ": error: byte ")))
          << size;
    }
    Write(name, whole);
  }
  EXPECT_EQ(Error(), "");
}

TEST_F(FashionMnistTest, SplitsMustFit) {
  EXPECT_EQ(Error(/*dev=*/5), "");
  EXPECT_THAT(Error(/*dev=*/6),
              HasSubstr("6 training images; data.fashion_mnist requires 7"));
  EXPECT_THAT(Error(/*dev=*/4, /*train=*/3), HasSubstr("requires 7"));
  Write("t10k-images-idx3-ubyte", Header({2, 3, 2}) + std::string(12, 'a'));
  EXPECT_THAT(
      Error(),
      HasSubstr(
          "training images have 2 x 3 pixels, but test images have 3 x 2"));
}

}  // namespace
}  // namespace regard
