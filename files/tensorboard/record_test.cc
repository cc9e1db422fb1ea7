#include "files/tensorboard/record.h"

#include <string>

#include "gtest/gtest.h"

namespace regard::tensorboard {
namespace {

TEST(RecordTest, PublishedChecksums) {
  EXPECT_EQ(Crc32c(std::string(32, '\0')), 0x8a9136aau);
  EXPECT_EQ(Crc32c("123456789"), 0xe3069283u);
  EXPECT_EQ(MaskedCrc32c("\x1a\x11"
                         "CRC test, one two"),
            0x5794d08au);
}

TEST(RecordTest, AFramedRecordIsAsTensorBoardWritesIt) {
  const std::string payload(
      "\x09\x00\x00\x80\x38\x99\xd6\xd7\x41\x1a\x0d"
      "brain.Event:2",
      24);
  EXPECT_EQ(FramedRecord(payload),
            std::string("\x18\0\0\0\0\0\0\0\xa3\x7f\x4b\x22", 12) + payload +
                "\x12\x4b\x36\xab");
}

}  // namespace
}  // namespace regard::tensorboard
