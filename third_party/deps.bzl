"""`regard_deps()`: declares every external repository that Regard needs."""

load(
    "//third_party/system:system_library.bzl",
    "system_library",
    "system_pkg_config",
)

# Targets of Abseil, with the pkg-config modules that provide their linker
# flags. A header-only target has no modules.
_ABSEIL = {
    "absl/algorithm:container": [],
    "absl/base:base": ["absl_base"],
    "absl/base:core_headers": [],
    "absl/cleanup:cleanup": [],
    "absl/container:btree": ["absl_throw_delegate"],
    "absl/container:flat_hash_map": ["absl_raw_hash_set", "absl_hash"],
    "absl/container:flat_hash_set": ["absl_raw_hash_set", "absl_hash"],
    "absl/container:inlined_vector": ["absl_throw_delegate"],
    "absl/debugging:failure_signal_handler": ["absl_failure_signal_handler"],
    "absl/debugging:symbolize": ["absl_symbolize"],
    "absl/functional:function_ref": [],
    "absl/memory:memory": [],
    "absl/numeric:bits": [],
    "absl/status:status": ["absl_status"],
    "absl/status:statusor": ["absl_statusor"],
    "absl/strings:str_format": ["absl_str_format"],
    "absl/strings:strings": ["absl_strings"],
    "absl/synchronization:synchronization": ["absl_synchronization"],
    "absl/time:time": ["absl_time"],
    "absl/types:span": ["absl_throw_delegate"],
}

_INCLUDE = "/usr/include/"

_OPENMPI = "/usr/lib/x86_64-linux-gnu/openmpi/"

def _system(
        name,
        package,
        links = {},
        files = {},
        build_file = None,
        optional_library = ""):
    if name not in native.existing_rules():
        system_library(
            name = name,
            package = package,
            optional_library = optional_library,
            links = links,
            files = {
                Label("//third_party" + label): path
                for label, path in files.items()
            },
            build_file = Label("//third_party" + build_file),
        )

def regard_deps():
    """Declares the repositories. An earlier definition takes precedence."""

    # These repositories would otherwise be downloaded by Bazel 4.2.3.
    _system(
        name = "rules_cc",
        package = "bazel-bootstrap",
        files = {
            "/rules_cc:rules_cc.BUILD": "cc/BUILD.bazel",
            "/rules_cc:cc_binary.bzl": "cc/cc_binary.bzl",
            "/rules_cc:cc_library.bzl": "cc/cc_library.bzl",
            "/rules_cc:cc_test.bzl": "cc/cc_test.bzl",
            "/rules_cc:defs.bzl": "cc/defs.bzl",
        },
        build_file = "/system:empty.BUILD",
    )
    _system(
        name = "rules_java",
        package = "bazel-rules-java",
        links = {"/usr/share/bazel/rules/java/java": "java"},
        build_file = "/system:empty.BUILD",
    )
    _system(
        name = "remote_coverage_tools",
        package = "bazel-bootstrap",
        build_file = ":coverage_tools.BUILD",
    )
    _system(
        name = "bazel_skylib",
        package = "bazel-skylib",
        links = {
            "/usr/share/bazel/tools/skylib/lib": "lib",
            "/usr/share/bazel/tools/skylib/rules": "rules",
        },
        build_file = "/system:empty.BUILD",
    )

    if "com_google_absl" not in native.existing_rules():
        system_pkg_config(
            name = "com_google_absl",
            package = "libabsl-dev",
            targets = _ABSEIL,
        )
    _system(
        name = "eigen",
        package = "libeigen3-dev",
        links = {
            _INCLUDE + "eigen3/Eigen": "Eigen",
            _INCLUDE + "eigen3/unsupported": "unsupported",
        },
        build_file = ":eigen.BUILD",
    )
    _system(
        name = "com_google_protobuf",
        package = "libprotobuf-dev protobuf-compiler",
        links = {
            "/usr/bin/protoc": "bin/protoc",
            _INCLUDE + "google/protobuf": "include/google/protobuf",
        },
        files = {
            "/protobuf:bazel.BUILD": "bazel/BUILD.bazel",
            "/protobuf:cc_proto_library.bzl": "bazel/cc_proto_library.bzl",
            "/protobuf:proto_library.bzl": "bazel/proto_library.bzl",
            "/protobuf:protoc.sh": "protoc.sh",
        },
        build_file = "/protobuf:protobuf.BUILD",
    )
    _system(
        name = "com_google_googletest",
        package = "libgtest-dev libgmock-dev",
        links = {
            _INCLUDE + "gmock/gmock.h": "gmock.h",
            _INCLUDE + "gtest/gtest.h": "gtest.h",
        },
        build_file = ":googletest.BUILD",
    )
    _system(
        name = "com_github_google_benchmark",
        package = "libbenchmark-dev",
        links = {_INCLUDE + "benchmark/benchmark.h": "benchmark.h"},
        build_file = ":benchmark.BUILD",
    )
    _system(
        name = "nlohmann_json",
        package = "nlohmann-json3-dev",
        links = {_INCLUDE + "nlohmann/json.hpp": "json.hpp"},
        build_file = ":nlohmann_json.BUILD",
    )
    _system(
        name = "openmpi",
        package = "libopenmpi-dev openmpi-bin",
        links = {
            _OPENMPI + "include": "include",
            "/usr/bin/mpirun": "bin/mpirun",
        },
        build_file = ":openmpi.BUILD",
        optional_library = "mpi",
    )
    _system(
        name = "openssl",
        package = "libssl-dev",
        links = {_INCLUDE + "openssl/evp.h": "evp.h"},
        build_file = ":openssl.BUILD",
    )
    _system(
        name = "libjpeg_turbo",
        package = "libturbojpeg0-dev",
        links = {_INCLUDE + "turbojpeg.h": "turbojpeg.h"},
        build_file = ":libjpeg_turbo.BUILD",
    )
    _system(
        name = "libpng",
        package = "libpng-dev",
        links = {_INCLUDE + "png.h": "png.h"},
        build_file = ":libpng.BUILD",
    )
    _system(
        name = "utf8proc",
        package = "libutf8proc-dev",
        links = {_INCLUDE + "utf8proc.h": "utf8proc.h"},
        build_file = ":utf8proc.BUILD",
    )
    _system(
        name = "zlib",
        package = "zlib1g-dev",
        links = {_INCLUDE + "zlib.h": "zlib.h"},
        build_file = ":zlib.BUILD",
    )
    _system(
        name = "chartjs",
        package = "libjs-chart.js",
        links = {"/usr/share/javascript/chart.js/chart.min.js": "chart.min.js"},
        build_file = ":chartjs.BUILD",
    )
