extension OpenAPIExample.Values {
    /// Of a real run; `Tests/partner.sh --renew` writes it.
    static let liveness = #"""
        {
          "schemaVersion": 1,
          "id": "01a21da9-e607-7c31-b5c0-9fcd65e8d4f7",
          "status": 128,
          "workflow": {"key": "liveness", "definitionKey": "6"},
          "createdAt": "2026-11-27T15:40:03.456Z",
          "startedAt": "2026-11-27T15:40:03.477Z",
          "completedAt": "2026-11-27T15:40:04.408Z",
          "userReference": "user 7",
          "decision": {"risk": {"score": 0}, "type": "PASSED", "details": {"label": "PASSED"}},
          "capabilities": {
            "liveness": [
              {
                "data": {
                  "steps": [
                    {"name": "YELLOW", "endMs": 631, "score": 0.9998703648113239, "outcome": "pass", "startMs": 231},
                    {"name": "RED", "endMs": 1031, "score": 0.9996008214191071, "outcome": "pass", "startMs": 631},
                    {"name": "BLUE", "endMs": 1431, "score": 0.9992194101981531, "outcome": "pass", "startMs": 1031},
                    {"name": "RED", "endMs": 1831, "score": 0.9993915949107794, "outcome": "pass", "startMs": 1431},
                    {"name": "CYAN", "endMs": 2231, "score": 0.9996959989152239, "outcome": "pass", "startMs": 1831},
                    {"name": "RED", "endMs": 2631, "score": 0.999848134922727, "outcome": "pass", "startMs": 2231},
                    {"name": "GREEN", "endMs": 3031, "score": 0.999979919467149, "outcome": "pass", "startMs": 2631}
                  ],
                  "method": "colour_flash",
                  "scores": {
                    "grey": 0,
                    "lead": 0.040147092944703214,
                    "soft": 0,
                    "frame": 0,
                    "lagMs": 231,
                    "moire": 0,
                    "noise": 0.004468430673234368,
                    "relief": 1.304273354212845,
                    "faceGain": 0.35864669808771515,
                    "response": 0.3806959661144805,
                    "specular": 0.003719842703794239,
                    "flatFocus": 0,
                    "saturated": 0.16266968325791856,
                    "weakerHalf": 0.9993360926464937,
                    "correlation": 0.9996036887234061,
                    "narrowColour": 0.018346718490863112,
                    "backgroundGain": 0.020264672617234504
                  },
                  "findings": [],
                  "assurance": "challenge",
                  "resultCode": 1
                },
                "parts": ["FACE", "FRAMES"],
                "decision": {"type": "PASSED", "details": {"label": "OK"}}
              }
            ],
            "usability": [
              {
                "data": {"image": {"width": 640, "format": "JPEG", "height": 480, "orientation": 1, "storedWidth": 640, "storedHeight": 480}},
                "parts": ["FACE"],
                "decision": {"type": "PASSED", "details": {"label": "OK"}}
              }
            ]
          },
          "reasons": [],
          "rejectReasons": [],
          "faces": [
            {
              "box": {"x": 209, "y": 161, "width": 216, "height": 216},
              "part": "FACE",
              "quality": {
                "roll": 0,
                "chroma": 24.369882660214046,
                "centreX": 0.49992187500000007,
                "visible": 0.9999999850888741,
                "eyeLineY": 0.55,
                "headWidth": 0.3179250000000001,
                "sharpness": 406.95764294011275,
                "yawOffset": -0.015923566878981155,
                "overExposed": 0,
                "dynamicRange": 7.162611383005817,
                "underExposed": 0.06923950056753689,
                "luminanceMean": 0.3114922245856343,
                "colourDistance": 0,
                "interEyeDistance": 84.78000000000003,
                "luminanceVariance": 0.02337049264932639,
                "backgroundGradient": 13.968291416670167,
                "illuminationUniformity": 0.546875
              },
              "landmarks": [
                {"x": 261.36, "y": 216},
                {"x": 293.76, "y": 216},
                {"x": 379.08, "y": 216},
                {"x": 345.6, "y": 216},
                {"x": 318.6, "y": 279.71999999999997}
              ],
              "assessment": {
                "measures": [
                  {"name": "luminanceMean", "score": 90, "native": 0.3114922245856343},
                  {"name": "luminanceVariance", "score": 97, "native": 0.02337049264932639},
                  {"name": "overExposurePrevention", "score": 100, "native": 0},
                  {"name": "underExposurePrevention", "score": 100, "native": 0.06923950056753689},
                  {"name": "dynamicRange", "score": 90, "native": 7.162611383005817},
                  {"name": "illuminationUniformity", "note": "in 16 classes of luminance, OFIQ in 256", "score": 83, "native": 0.546875},
                  {
                    "name": "sharpness",
                    "note": "variance of the Laplacian on its own scale; OFIQ's forest is a separate model",
                    "score": 98,
                    "native": 406.95764294011275
                  },
                  {"name": "singleFacePresent", "score": 100, "native": 0},
                  {"name": "naturalColour", "score": 100, "native": 0},
                  {
                    "name": "backgroundUniformity",
                    "note": "approximate: around an ellipse instead of the parsed head",
                    "score": 93,
                    "native": 13.968291416670167
                  },
                  {"name": "leftwardCrop", "score": 100, "native": 3.7738853503184706},
                  {"name": "rightwardCrop", "score": 100, "native": 3.7750648737909867},
                  {"name": "headPoseRoll", "score": 100, "native": 0},
                  {"name": "interEyeDistance", "note": "without correction for yaw", "score": 68, "native": 84.78000000000003},
                  {"name": "eyesOpen", "note": "not assessed: needs the 68-point model"},
                  {"name": "mouthClosed", "note": "not assessed: needs the 68-point model"},
                  {"name": "headSize", "note": "not assessed: needs the 68-point model"},
                  {"name": "marginAbove", "note": "not assessed: needs the 68-point model"},
                  {"name": "marginBelow", "note": "not assessed: needs the 68-point model"},
                  {"name": "headPoseYaw", "note": "not assessed: needs the 68-point model"},
                  {"name": "headPosePitch", "note": "not assessed: needs the 68-point model"},
                  {"name": "compressionArtifacts", "note": "not assessed: needs a network"},
                  {"name": "eyesVisible", "note": "not assessed: needs a network"},
                  {"name": "mouthOcclusionPrevention", "note": "not assessed: needs a network"},
                  {"name": "faceOcclusionPrevention", "note": "not assessed: needs a network"},
                  {"name": "expressionNeutrality", "note": "not assessed: needs a network"},
                  {"name": "noHeadCoverings", "note": "not assessed: needs a network"},
                  {"name": "unifiedQualityScore", "note": "not assessed: needs a network"}
                ],
                "appearance": {},
                "isoConform": "fail",
                "isoReasons": ["headWidth", "eyeDistance", "background"]
              }
            }
          ],
          "faceSdk": {"code": 1, "type": "liveness", "status": "success", "outcome": "success"},
          "engine": {
            "models": {"dlib-resnet-v1/5pt/mirror2": "55533b28a95800a551ba546ba62fe69625c7e95a7061c338adffead08719da30"},
            "versions": {"inspectd": "0.2.0"},
            "timingsMs": {"cpu": 667.128389, "face": 84.1, "decide": 12.1, "acquired": 5.9, "liveness": 785.7, "cpu.decode": 1.852138}
          }
        }
        """#
}
