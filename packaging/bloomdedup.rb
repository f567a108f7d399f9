# A formula for Homebrew. ARCHIVE and CHECKSUM: those of `make dist`.
class Bloomdedup < Formula
  desc "Print the lines that were never seen before, across runs"
  url "ARCHIVE"
  sha256 "CHECKSUM"
  license "MIT"

  depends_on "pkgconf" => :build
  depends_on "xxhash" => :build
  depends_on "hiredis"
  depends_on "libevent"
  depends_on :linux
  depends_on "zlib"
  depends_on "zstd"

  def install
    system "make", "install", "PREFIX=#{prefix}",
           "CPPFLAGS=-I#{HOMEBREW_PREFIX}/include",
           "LDFLAGS=-L#{HOMEBREW_PREFIX}/lib"
  end

  test do
    assert_equal "a\nb\n", pipe_output("#{bin}/bloomdedup -f seen", "a\nb\na\n")
    assert_equal "c\n", pipe_output("#{bin}/bloomdedup -f seen", "b\nc\n")
  end
end
