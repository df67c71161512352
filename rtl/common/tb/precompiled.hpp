// Headers included by the testbenches and models of every design, compiled once (rtl/rtl.py): parsing them takes longer
// than compiling most designs.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <fstream>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "verilated.h"
