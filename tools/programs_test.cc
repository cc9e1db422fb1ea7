// The programs set up their thread as training does.
#include "tools/programs.h"

#include <immintrin.h>

#include "experiments/tasks/plugins.h"
#include "gtest/gtest.h"

namespace regard {
namespace {

// A product that is a denormal number, or 0 where these are flushed.
float DenormalProduct() {
  const volatile float a = 1e-30F;
  const volatile float b = 1e-10F;
  return a * b;
}

template <typename Main>
void ExpectFlushes(Main run) {
  _mm_setcsr(0x1f80);  // as a new process has it
  ASSERT_GT(DenormalProduct(), 0.0F);
  char program[] = "program";
  char flag[] = "--run=there is no such run";
  char* arguments[] = {program, flag};
  EXPECT_EQ(run(2, arguments, Plugins()), 2);
  EXPECT_EQ(DenormalProduct(), 0.0F);
}

TEST(TranslateProgramTest, FlushesDenormalNumbers) {
  ExpectFlushes(TranslateMain);
}

TEST(GenerateProgramTest, FlushesDenormalNumbers) {
  ExpectFlushes(GenerateMain);
}

TEST(InspectProgramTest, FlushesDenormalNumbers) { ExpectFlushes(InspectMain); }

}  // namespace
}  // namespace regard
