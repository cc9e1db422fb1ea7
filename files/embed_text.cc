// Writes a C++ source whose one function returns the bytes of a file:
//   embed_text HEADER FUNCTION FILE
#include <cstddef>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>

namespace {

// One literal of a line's length at a time, which compiles fast. Every byte
// that could mean something to the compiler is written in octal, always three
// digits, so that a digit after it stays apart.
void WriteLiteral(const std::string& bytes, std::ostream& out) {
  constexpr std::size_t kBytesPerLine = 64;
  for (std::size_t begin = 0; begin < bytes.size(); begin += kBytesPerLine) {
    out << "\n    \"";
    for (const unsigned char c : bytes.substr(begin, kBytesPerLine)) {
      if (c < 0x20 || c >= 0x7f || c == '"' || c == '\\' || c == '?') {
        char octal[5];
        std::snprintf(octal, sizeof(octal), "\\%03o", c);
        out << octal;
      } else {
        out << c;
      }
    }
    out << '"';
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::cerr << "usage: embed_text HEADER FUNCTION FILE\n";
    return 2;
  }
  std::ifstream file(argv[3], std::ios::binary);
  if (!file) {
    std::cerr << "embed_text: cannot read " << argv[3] << "\n";
    return 2;
  }
  const std::string bytes((std::istreambuf_iterator<char>(file)),
                          std::istreambuf_iterator<char>());
  std::cout << "#include \"" << argv[1] << "\"\n\n"
            << "namespace regard {\nnamespace {\n\n"
            << "constexpr char kBytes[] = \"\"";
  WriteLiteral(bytes, std::cout);
  std::cout << ";\n\n}  // namespace\n\n"
            << "absl::string_view " << argv[2] << "() {\n"
            << "  return absl::string_view(kBytes, sizeof(kBytes) - 1);\n"
            << "}\n\n}  // namespace regard\n";
  return std::cout.good() ? 0 : 1;
}
